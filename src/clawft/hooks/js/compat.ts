// What hooks import as `openclaw/hooks`: the types of events, and a way to call a handler by hand.

export type HookEventType = "command" | "session" | "agent" | "gateway" | "message" | "tool";

export interface BootstrapFile {
  path: string;
  name?: string;
  content?: string;
  virtual?: boolean;
  missing?: boolean;
}

export interface HookContext {
  workspaceDir?: string;
  bootstrapFiles?: BootstrapFile[];
  // deno-lint-ignore no-explicit-any
  [key: string]: any;
}

export interface HookEvent {
  type: HookEventType;
  action: string;
  sessionKey: string;
  timestamp: Date;
  messages: string[];
  context: HookContext;
}

// deno-lint-ignore no-explicit-any
export type HookHandler = (event: HookEvent) => any;
export type InternalHookEvent = HookEvent;
export type InternalHookHandler = HookHandler;

/** Call a handler with an event, whose missing parts are filled in; the event as the handler left it. */
export async function runHook(handler: HookHandler, event: Partial<HookEvent> = {}): Promise<HookEvent> {
  const whole: HookEvent = {
    type: event.type ?? "agent",
    action: event.action ?? "",
    sessionKey: event.sessionKey ?? "",
    timestamp: event.timestamp ?? new Date(),
    messages: event.messages ?? [],
    context: event.context ?? {},
  };
  await handler(whole);
  return whole;
}
