;; Counts the words of {"text": "…"} on standard input, and writes {"words": N}. A module of WASI preview 1.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))

  ;; 0: one buffer of fd_read or fd_write, and what came of it; 16: the answer; 256: the text for errors; 1024: the input
  (memory (export "memory") 32)
  (data (i32.const 16) "{\"words\": ")
  (data (i32.const 256) "The input is not {\"text\": \"…\"}\n")
  (global $input i32 (i32.const 1024))
  (global $end (mut i32) (i32.const 1024))

  ;; All of standard input, up to what the memory holds.
  (func $read_all
    (loop $more
      (i32.store (i32.const 0) (global.get $end))
      (i32.store (i32.const 4) (i32.sub (i32.const 2097152) (global.get $end)))
      (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then (call $fail)))
      (global.set $end (i32.add (global.get $end) (i32.load (i32.const 8))))
      (br_if $more (i32.load (i32.const 8)))))

  (func $write (param $to i32) (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 8))))

  (func $fail
    (call $write (i32.const 2) (i32.const 256) (i32.const 33))
    (call $proc_exit (i32.const 2)))

  ;; Where the value begins: behind the third quote, since "text" is the only name.
  (func $find_text (result i32)
    (local $at i32) (local $quotes i32)
    (local.set $at (global.get $input))
    (loop $next
      (if (i32.ge_u (local.get $at) (global.get $end)) (then (call $fail)))
      (local.set $quotes (i32.add (local.get $quotes) (i32.eq (i32.load8_u (local.get $at)) (i32.const 34))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $quotes) (i32.const 3))))
    (local.get $at))

  ;; Is a character of the text space? Behind a backslash, n, r, t, f and b are.
  (func $is_space (param $char i32) (param $escaped i32) (result i32)
    (if (result i32) (local.get $escaped)
      (then (i32.or (i32.or (i32.eq (local.get $char) (i32.const 110)) (i32.eq (local.get $char) (i32.const 114)))
                    (i32.or (i32.eq (local.get $char) (i32.const 116)) (i32.eq (local.get $char) (i32.const 102)))))
      (else (i32.le_u (local.get $char) (i32.const 32)))))

  (func $count (param $at i32) (result i32)
    (local $char i32) (local $escaped i32) (local $space i32) (local $words i32)
    (local.set $space (i32.const 1))
    (block $done
      (loop $next
        (if (i32.ge_u (local.get $at) (global.get $end)) (then (call $fail)))
        (local.set $char (i32.load8_u (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $done (i32.and (i32.eq (local.get $char) (i32.const 34)) (i32.eqz (local.get $escaped))))
        (if (i32.and (i32.eq (local.get $char) (i32.const 92)) (i32.eqz (local.get $escaped)))
          (then (local.set $escaped (i32.const 1)) (br $next)))
        (if (call $is_space (local.get $char) (local.get $escaped))
          (then (local.set $space (i32.const 1)))
          (else
            (local.set $words (i32.add (local.get $words) (local.get $space)))
            (local.set $space (i32.const 0))))
        (local.set $escaped (i32.const 0))
        (br $next)))
    (local.get $words))

  (func $answer (param $number i32)
    (local $at i32) (local $digits i32) (local $left i32)
    (local.set $left (local.get $number))
    (loop $more
      (local.set $digits (i32.add (local.get $digits) (i32.const 1)))
      (local.set $left (i32.div_u (local.get $left) (i32.const 10)))
      (br_if $more (local.get $left)))
    (local.set $at (i32.add (i32.const 26) (local.get $digits)))
    (i32.store16 (local.get $at) (i32.const 0x0a7d))  ;; } and the end of the line
    (loop $more  ;; from the last digit to the first
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $number) (i32.const 10))))
      (local.set $number (i32.div_u (local.get $number) (i32.const 10)))
      (br_if $more (local.get $number)))
    (call $write (i32.const 1) (i32.const 16) (i32.add (i32.const 12) (local.get $digits))))

  (func (export "_start")
    (call $read_all)
    (call $answer (call $count (call $find_text)))))
