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

/**
 * Without an event: the handler is called for the one that this process is for, as a default export would be. With one:
 * it is called at once, with what is missing filled in; the event as the handler left it.
 */
export async function runHook(handler: HookHandler, event?: Partial<HookEvent>): Promise<HookEvent | undefined> {
  if (event === undefined) {
    Reflect.set(globalThis, Symbol.for("openclaw.hook"), handler); // answer.js looks here
    return undefined;
  }
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
