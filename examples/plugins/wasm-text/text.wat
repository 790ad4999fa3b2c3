(component
  (type $ty-clawft:plugin/types@0.1.0 (;0;)
    (instance
      (type (;0;) (record (field "id" string) (field "name" string) (field "version" string)))
      (export (;1;) "plugin-info" (type (eq 0)))
      (type (;2;) (record (field "name" string) (field "arguments" string)))
      (export (;3;) "tool-call" (type (eq 2)))
      (type (;4;) (record (field "content" string) (field "is-error" bool)))
      (export (;5;) "tool-result" (type (eq 4)))
    )
  )
  (import "clawft:plugin/types@0.1.0" (instance $clawft:plugin/types@0.1.0 (;0;) (type $ty-clawft:plugin/types@0.1.0)))
  (type $ty-clawft:plugin/host@0.1.0 (;1;)
    (instance
      (type (;0;) (option string))
      (type (;1;) (func (param "key" string) (result 0)))
      (export (;0;) "get-config" (func (type 1)))
      (type (;2;) (func (param "level" u8) (param "message" string)))
      (export (;1;) "log" (func (type 2)))
      (type (;3;) (result string (error string)))
      (type (;4;) (func (param "path" string) (result 3)))
      (export (;2;) "read-file" (func (type 4)))
    )
  )
  (import "clawft:plugin/host@0.1.0" (instance $clawft:plugin/host@0.1.0 (;1;) (type $ty-clawft:plugin/host@0.1.0)))
  (core module $main (;0;)
    (type (;0;) (func (param i32 i32 i32)))
    (type (;1;) (func (param i32 i32)))
    (type (;2;) (func (param i32) (result i32)))
    (type (;3;) (func (param i32 i32 i32) (result i32)))
    (type (;4;) (func (param i32 i32) (result i32)))
    (type (;5;) (func (result i32)))
    (type (;6;) (func (param i32 i32 i32 i32) (result i32)))
    (type (;7;) (func (param i32)))
    (type (;8;) (func))
    (import "clawft:plugin/host@0.1.0" "get-config" (func (;0;) (type 0)))
    (import "clawft:plugin/host@0.1.0" "read-file" (func (;1;) (type 0)))
    (import "clawft:plugin/host@0.1.0" "log" (func (;2;) (type 0)))
    (table (;0;) 1 1 funcref)
    (memory (;0;) 1)
    (global (;0;) (mut i32) i32.const 16384)
    (export "memory" (memory 0))
    (export "clawft:plugin/plugin@0.1.0#init" (func 15))
    (export "clawft:plugin/plugin@0.1.0#info" (func 16))
    (export "clawft:plugin/plugin@0.1.0#execute-tool" (func 17))
    (export "cabi_post_clawft:plugin/plugin@0.1.0#execute-tool" (func 18))
    (export "clawft:plugin/plugin@0.1.0#shutdown" (func 19))
    (export "cabi_realloc" (func 24))
    (func (;3;) (type 1) (param i32 i32)
      (local i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)
      local.get 0
      i64.const 0
      i64.store offset=8 align=4
      local.get 0
      i64.const 0
      i64.store align=4
      block ;; label = @1
        local.get 1
        i32.load offset=4
        local.tee 2
        i32.eqz
        br_if 0 (;@1;)
        local.get 1
        i32.load
        local.set 3
        i32.const 0
        local.set 4
        local.get 2
        local.set 5
        i32.const 0
        local.set 6
        i32.const 0
        local.set 7
        i32.const 0
        local.set 8
        i32.const 0
        local.set 9
        i32.const 0
        local.set 10
        loop ;; label = @2
          block ;; label = @3
            local.get 3
            i32.load8_u
            local.tee 11
            i32.extend8_s
            local.tee 12
            i32.const -64
            i32.lt_s
            br_if 0 (;@3;)
            block ;; label = @4
              block ;; label = @5
                local.get 12
                i32.const 10
                i32.ne
                br_if 0 (;@5;)
                i32.const 1
                local.set 12
                local.get 6
                i32.const 1
                i32.add
                local.set 6
                i32.const 0
                local.set 4
                br 1 (;@4;)
              end
              local.get 4
              i32.const 1
              i32.add
              local.tee 4
              local.get 8
              local.get 4
              local.get 8
              i32.gt_u
              select
              local.set 8
              local.get 12
              i32.const 32
              i32.eq
              local.get 12
              i32.const -9
              i32.add
              i32.const 255
              i32.and
              i32.const 5
              i32.lt_u
              i32.or
              local.set 12
              local.get 9
              i32.const 1
              i32.and
              br_if 0 (;@4;)
              local.get 11
              i32.const -9
              i32.add
              i32.const 5
              i32.lt_u
              br_if 0 (;@4;)
              local.get 11
              i32.const 32
              i32.eq
              br_if 0 (;@4;)
              local.get 7
              i32.const 1
              i32.add
              local.set 7
            end
            local.get 10
            i32.const 1
            i32.add
            local.set 10
            local.get 12
            i32.const 1
            i32.xor
            local.set 9
          end
          local.get 3
          i32.const 1
          i32.add
          local.set 3
          local.get 5
          i32.const -1
          i32.add
          local.tee 5
          br_if 0 (;@2;)
        end
        local.get 0
        local.get 6
        i32.store offset=8
        local.get 0
        local.get 7
        i32.store offset=4
        local.get 0
        local.get 8
        i32.store offset=12
        local.get 0
        local.get 10
        i32.store
        local.get 1
        i32.load
        local.get 2
        i32.add
        i32.const -1
        i32.add
        i32.load8_u
        i32.const 10
        i32.eq
        br_if 0 (;@1;)
        local.get 0
        local.get 6
        i32.const 1
        i32.add
        i32.store offset=8
      end
    )
    (func (;4;) (type 2) (param i32) (result i32)
      (local i32 i32 i32 i32)
      block ;; label = @1
        local.get 0
        i32.load offset=4
        local.tee 1
        br_if 0 (;@1;)
        i32.const 0
        return
      end
      local.get 0
      i32.load
      local.set 2
      i32.const 0
      local.set 3
      i32.const -1
      local.set 0
      loop ;; label = @1
        local.get 0
        local.get 2
        local.get 3
        i32.add
        i32.load8_u
        i32.xor
        local.set 0
        i32.const 8
        local.set 4
        loop ;; label = @2
          i32.const 0
          local.get 0
          i32.const 1
          i32.and
          i32.sub
          i32.const -306674912
          i32.and
          local.get 0
          i32.const 1
          i32.shr_u
          i32.xor
          local.set 0
          local.get 4
          i32.const -1
          i32.add
          local.tee 4
          br_if 0 (;@2;)
        end
        local.get 3
        i32.const 1
        i32.add
        local.tee 3
        local.get 1
        i32.ne
        br_if 0 (;@1;)
      end
      local.get 0
      i32.const -1
      i32.xor
    )
    (func (;5;) (type 1) (param i32 i32)
      (local i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32 i32)
      global.get 0
      i32.const 384
      i32.sub
      local.tee 2
      global.set 0
      local.get 2
      i32.const 0
      i64.load offset=16440
      i64.store offset=88
      local.get 2
      i32.const 0
      i64.load offset=16432
      i64.store offset=80
      local.get 2
      i32.const 0
      i64.load offset=16424
      i64.store offset=72
      local.get 2
      i32.const 0
      i64.load offset=16416
      i64.store offset=64
      local.get 0
      i32.load offset=4
      local.tee 3
      i32.const 8
      i32.add
      i32.const 6
      i32.shr_u
      local.set 4
      local.get 3
      i64.extend_i32_u
      i64.const 3
      i64.shl
      local.set 5
      local.get 2
      i32.const 63
      i32.add
      local.set 6
      local.get 2
      i32.const 96
      i32.add
      i32.const 28
      i32.add
      local.set 7
      local.get 0
      i32.load
      local.set 8
      i32.const 0
      local.set 9
      i32.const 0
      local.set 10
      loop ;; label = @1
        local.get 8
        local.get 10
        i32.add
        local.set 11
        local.get 3
        local.get 10
        i32.sub
        local.set 12
        i32.const 0
        local.set 0
        loop ;; label = @2
          block ;; label = @3
            block ;; label = @4
              local.get 10
              local.get 0
              i32.add
              local.get 3
              i32.ge_u
              br_if 0 (;@4;)
              local.get 11
              local.get 0
              i32.add
              i32.load8_u
              local.set 13
              br 1 (;@3;)
            end
            i32.const -128
            i32.const 0
            local.get 12
            local.get 0
            i32.eq
            select
            local.set 13
          end
          local.get 2
          local.get 0
          i32.add
          local.get 13
          i32.store8
          local.get 0
          i32.const 1
          i32.add
          local.tee 0
          i32.const 64
          i32.ne
          br_if 0 (;@2;)
        end
        block ;; label = @2
          local.get 9
          local.get 4
          i32.ne
          local.tee 14
          br_if 0 (;@2;)
          i64.const 0
          local.set 15
          local.get 6
          local.set 13
          loop ;; label = @3
            local.get 13
            local.get 5
            local.get 15
            i64.shr_u
            i64.store8
            local.get 13
            i32.const -1
            i32.add
            local.set 13
            local.get 15
            i64.const 8
            i64.add
            local.tee 15
            i64.const 64
            i64.ne
            br_if 0 (;@3;)
          end
        end
        local.get 10
        local.get 0
        i32.add
        local.set 10
        i32.const 0
        local.set 0
        loop ;; label = @2
          local.get 2
          i32.const 128
          i32.add
          local.get 0
          i32.add
          local.get 2
          local.get 0
          i32.add
          i32.load
          local.tee 13
          i32.const 16711935
          i32.and
          i32.const 8
          i32.rotr
          local.get 13
          i32.const 24
          i32.rotr
          i32.const 16711935
          i32.and
          i32.or
          i32.store
          local.get 0
          i32.const 4
          i32.add
          local.tee 0
          i32.const 64
          i32.ne
          br_if 0 (;@2;)
        end
        i32.const 0
        local.set 13
        loop ;; label = @2
          local.get 2
          i32.const 128
          i32.add
          local.get 13
          i32.add
          local.tee 0
          i32.const 64
          i32.add
          local.get 0
          i32.const 36
          i32.add
          i32.load
          local.get 0
          i32.load
          i32.add
          local.get 0
          i32.const 4
          i32.add
          i32.load
          local.tee 11
          i32.const 25
          i32.rotl
          local.get 11
          i32.const 14
          i32.rotl
          i32.xor
          local.get 11
          i32.const 3
          i32.shr_u
          i32.xor
          i32.add
          local.get 0
          i32.const 56
          i32.add
          i32.load
          local.tee 0
          i32.const 15
          i32.rotl
          local.get 0
          i32.const 13
          i32.rotl
          i32.xor
          local.get 0
          i32.const 10
          i32.shr_u
          i32.xor
          i32.add
          i32.store
          local.get 13
          i32.const 4
          i32.add
          local.tee 13
          i32.const 192
          i32.ne
          br_if 0 (;@2;)
        end
        i32.const 0
        local.set 0
        loop ;; label = @2
          local.get 2
          i32.const 96
          i32.add
          local.get 0
          i32.add
          local.get 2
          i32.const 64
          i32.add
          local.get 0
          i32.add
          i32.load
          i32.store
          local.get 0
          i32.const 4
          i32.add
          local.tee 0
          i32.const 32
          i32.ne
          br_if 0 (;@2;)
        end
        i32.const 0
        local.set 16
        local.get 2
        i32.load offset=96
        local.set 17
        local.get 2
        i32.load offset=112
        local.set 12
        loop ;; label = @2
          local.get 16
          i32.const 2
          i32.shl
          local.tee 0
          i32.load offset=16448
          local.set 18
          local.get 2
          i32.const 128
          i32.add
          local.get 0
          i32.add
          i32.load
          local.set 19
          local.get 2
          i32.const 96
          i32.add
          i32.const 28
          i32.add
          i32.load
          local.set 20
          i32.const 8
          local.set 13
          local.get 2
          i32.load offset=104
          local.set 21
          local.get 2
          i32.load offset=100
          local.set 22
          local.get 2
          i32.load offset=120
          local.set 23
          local.get 2
          i32.load offset=116
          local.set 24
          local.get 7
          local.set 0
          loop ;; label = @3
            local.get 0
            local.get 0
            i32.const -4
            i32.add
            local.tee 11
            i32.load
            i32.store
            local.get 11
            local.set 0
            local.get 13
            i32.const -1
            i32.add
            local.tee 13
            i32.const 1
            i32.gt_u
            br_if 0 (;@3;)
          end
          local.get 2
          local.get 21
          local.get 22
          i32.xor
          local.get 17
          i32.and
          local.get 21
          local.get 22
          i32.and
          i32.xor
          local.get 17
          i32.const 30
          i32.rotl
          local.get 17
          i32.const 19
          i32.rotl
          i32.xor
          local.get 17
          i32.const 10
          i32.rotl
          i32.xor
          i32.add
          local.get 12
          i32.const 26
          i32.rotl
          local.get 12
          i32.const 21
          i32.rotl
          i32.xor
          local.get 12
          i32.const 7
          i32.rotl
          i32.xor
          local.get 24
          local.get 12
          i32.and
          i32.add
          local.get 23
          local.get 12
          i32.const -1
          i32.xor
          i32.and
          i32.add
          local.get 20
          i32.add
          local.get 18
          i32.add
          local.get 19
          i32.add
          local.tee 0
          i32.add
          local.tee 17
          i32.store offset=96
          local.get 2
          local.get 2
          i32.load offset=112
          local.get 0
          i32.add
          local.tee 12
          i32.store offset=112
          local.get 16
          i32.const 1
          i32.add
          local.tee 16
          i32.const 64
          i32.ne
          br_if 0 (;@2;)
        end
        i32.const 0
        local.set 0
        loop ;; label = @2
          local.get 2
          i32.const 64
          i32.add
          local.get 0
          i32.add
          local.tee 13
          local.get 13
          i32.load
          local.get 2
          i32.const 96
          i32.add
          local.get 0
          i32.add
          i32.load
          i32.add
          i32.store
          local.get 0
          i32.const 4
          i32.add
          local.tee 0
          i32.const 32
          i32.ne
          br_if 0 (;@2;)
        end
        local.get 9
        i32.const 1
        i32.add
        local.set 9
        local.get 14
        br_if 0 (;@1;)
      end
      i32.const 0
      local.set 13
      i32.const 0
      local.set 0
      loop ;; label = @1
        local.get 1
        local.get 0
        i32.add
        local.get 2
        i32.const 64
        i32.add
        local.get 0
        i32.const 1
        i32.shr_u
        i32.const 2147483644
        i32.and
        i32.add
        i32.load
        local.get 13
        i32.const -1
        i32.xor
        i32.const 28
        i32.and
        i32.shr_u
        i32.const 15
        i32.and
        i32.load8_u offset=16384
        i32.store8
        local.get 13
        i32.const 4
        i32.add
        local.set 13
        local.get 0
        i32.const 1
        i32.add
        local.tee 0
        i32.const 64
        i32.ne
        br_if 0 (;@1;)
      end
      local.get 1
      i32.const 0
      i32.store8 offset=64
      local.get 2
      i32.const 384
      i32.add
      global.set 0
    )
    (func (;6;) (type 3) (param i32 i32 i32) (result i32)
      (local i32 i32 i32 i32 i32)
      global.get 0
      i32.const 32
      i32.sub
      local.tee 3
      global.set 0
      local.get 3
      local.get 0
      i32.load
      local.tee 4
      i32.store offset=24
      local.get 3
      local.get 4
      local.get 0
      i32.load offset=4
      local.tee 0
      i32.add
      local.tee 5
      i32.store offset=28
      block ;; label = @1
        local.get 0
        i32.eqz
        br_if 0 (;@1;)
        block ;; label = @2
          loop ;; label = @3
            local.get 4
            i32.load8_u
            i32.const -9
            i32.add
            local.tee 6
            i32.const 23
            i32.gt_u
            br_if 1 (;@2;)
            i32.const 1
            local.get 6
            i32.shl
            i32.const 8388627
            i32.and
            i32.eqz
            br_if 1 (;@2;)
            local.get 4
            i32.const 1
            i32.add
            local.set 4
            local.get 0
            i32.const -1
            i32.add
            local.tee 0
            br_if 0 (;@3;)
          end
          local.get 5
          local.set 4
        end
        local.get 3
        local.get 4
        i32.store offset=24
      end
      i32.const 0
      local.set 7
      block ;; label = @1
        local.get 4
        local.get 5
        i32.ge_u
        br_if 0 (;@1;)
        local.get 4
        i32.load8_u
        i32.const 123
        i32.ne
        br_if 0 (;@1;)
        loop ;; label = @2
          local.get 3
          local.get 4
          i32.const 1
          i32.add
          i32.store offset=24
          local.get 3
          i32.const 24
          i32.add
          local.get 3
          i32.const 16
          i32.add
          call 7
          i32.eqz
          br_if 1 (;@1;)
          block ;; label = @3
            local.get 3
            i32.load offset=24
            local.tee 4
            local.get 3
            i32.load offset=28
            local.tee 0
            i32.ge_u
            br_if 0 (;@3;)
            block ;; label = @4
              loop ;; label = @5
                local.get 4
                i32.load8_u
                i32.const -9
                i32.add
                local.tee 6
                i32.const 23
                i32.gt_u
                br_if 1 (;@4;)
                i32.const 1
                local.get 6
                i32.shl
                i32.const 8388627
                i32.and
                i32.eqz
                br_if 1 (;@4;)
                local.get 4
                i32.const 1
                i32.add
                local.tee 4
                local.get 0
                i32.ne
                br_if 0 (;@5;)
              end
              local.get 0
              local.set 4
            end
            local.get 3
            local.get 4
            i32.store offset=24
          end
          local.get 4
          local.get 0
          i32.ge_u
          br_if 1 (;@1;)
          local.get 4
          i32.load8_u
          i32.const 58
          i32.ne
          br_if 1 (;@1;)
          local.get 3
          local.get 4
          i32.const 1
          i32.add
          local.tee 4
          i32.store offset=24
          block ;; label = @3
            local.get 4
            local.get 0
            i32.ge_u
            br_if 0 (;@3;)
            loop ;; label = @4
              local.get 4
              i32.load8_u
              i32.const -9
              i32.add
              local.tee 6
              i32.const 23
              i32.gt_u
              br_if 1 (;@3;)
              i32.const 1
              local.get 6
              i32.shl
              i32.const 8388627
              i32.and
              i32.eqz
              br_if 1 (;@3;)
              local.get 3
              local.get 4
              i32.const 1
              i32.add
              local.tee 4
              i32.store offset=24
              local.get 4
              local.get 0
              i32.ne
              br_if 0 (;@4;)
            end
          end
          block ;; label = @3
            block ;; label = @4
              local.get 4
              local.get 0
              i32.ge_u
              br_if 0 (;@4;)
              block ;; label = @5
                local.get 4
                i32.load8_u
                i32.const 34
                i32.ne
                br_if 0 (;@5;)
                local.get 3
                i32.const 24
                i32.add
                local.get 3
                i32.const 8
                i32.add
                call 7
                i32.eqz
                br_if 4 (;@1;)
                local.get 3
                local.get 3
                i64.load offset=16 align=4
                i64.store
                block ;; label = @6
                  local.get 3
                  local.get 1
                  call 21
                  br_if 0 (;@6;)
                  local.get 3
                  i32.load offset=28
                  local.set 0
                  local.get 3
                  i32.load offset=24
                  local.set 4
                  br 3 (;@3;)
                end
                local.get 2
                local.get 3
                i64.load offset=8
                i64.store align=4
                i32.const 1
                local.set 7
                br 4 (;@1;)
              end
              block ;; label = @5
                loop ;; label = @6
                  local.get 4
                  i32.load8_u
                  i32.const -9
                  i32.add
                  local.tee 6
                  i32.const 23
                  i32.gt_u
                  br_if 1 (;@5;)
                  i32.const 1
                  local.get 6
                  i32.shl
                  i32.const 8388627
                  i32.and
                  i32.eqz
                  br_if 1 (;@5;)
                  local.get 4
                  i32.const 1
                  i32.add
                  local.tee 4
                  local.get 0
                  i32.ne
                  br_if 0 (;@6;)
                end
                local.get 0
                local.set 4
              end
              local.get 3
              local.get 4
              i32.store offset=24
            end
            local.get 4
            local.get 0
            i32.ge_u
            br_if 0 (;@3;)
            loop ;; label = @4
              local.get 4
              i32.load8_u
              local.tee 6
              i32.const 44
              i32.eq
              br_if 1 (;@3;)
              local.get 6
              i32.const 125
              i32.eq
              br_if 1 (;@3;)
              local.get 3
              local.get 4
              i32.const 1
              i32.add
              local.tee 4
              i32.store offset=24
              local.get 4
              local.get 0
              i32.ne
              br_if 0 (;@4;)
            end
          end
          block ;; label = @3
            local.get 4
            local.get 0
            i32.ge_u
            br_if 0 (;@3;)
            block ;; label = @4
              loop ;; label = @5
                local.get 4
                i32.load8_u
                i32.const -9
                i32.add
                local.tee 6
                i32.const 23
                i32.gt_u
                br_if 1 (;@4;)
                i32.const 1
                local.get 6
                i32.shl
                i32.const 8388627
                i32.and
                i32.eqz
                br_if 1 (;@4;)
                local.get 4
                i32.const 1
                i32.add
                local.tee 4
                local.get 0
                i32.ne
                br_if 0 (;@5;)
              end
              local.get 0
              local.set 4
            end
            local.get 3
            local.get 4
            i32.store offset=24
          end
          local.get 4
          local.get 0
          i32.ge_u
          br_if 1 (;@1;)
          local.get 4
          i32.load8_u
          i32.const 44
          i32.eq
          br_if 0 (;@2;)
        end
      end
      local.get 3
      i32.const 32
      i32.add
      global.set 0
      local.get 7
    )
    (func (;7;) (type 4) (param i32 i32) (result i32)
      (local i32 i32 i32 i32 i32 i32 i32 i32)
      global.get 0
      i32.const 16
      i32.sub
      local.tee 2
      global.set 0
      block ;; label = @1
        local.get 0
        i32.load
        local.tee 3
        local.get 0
        i32.load offset=4
        local.tee 4
        i32.ge_u
        br_if 0 (;@1;)
        loop ;; label = @2
          local.get 3
          i32.load8_u
          i32.const -9
          i32.add
          local.tee 5
          i32.const 23
          i32.gt_u
          br_if 1 (;@1;)
          i32.const 1
          local.get 5
          i32.shl
          i32.const 8388627
          i32.and
          i32.eqz
          br_if 1 (;@1;)
          local.get 0
          local.get 3
          i32.const 1
          i32.add
          local.tee 3
          i32.store
          local.get 3
          local.get 4
          i32.ne
          br_if 0 (;@2;)
        end
      end
      i32.const 0
      local.set 6
      block ;; label = @1
        local.get 3
        local.get 4
        i32.ge_u
        br_if 0 (;@1;)
        local.get 3
        i32.load8_u
        i32.const 34
        i32.ne
        br_if 0 (;@1;)
        local.get 0
        local.get 3
        i32.const 1
        i32.add
        local.tee 3
        i32.store
        local.get 4
        local.get 3
        i32.sub
        call 22
        local.set 7
        local.get 0
        i32.load
        local.tee 3
        local.get 0
        i32.load offset=4
        local.tee 8
        i32.ge_u
        br_if 0 (;@1;)
        i32.const 0
        local.set 4
        loop ;; label = @2
          local.get 0
          local.get 3
          i32.const 1
          i32.add
          local.tee 9
          i32.store
          block ;; label = @3
            block ;; label = @4
              block ;; label = @5
                block ;; label = @6
                  block ;; label = @7
                    local.get 3
                    i32.load8_u
                    local.tee 5
                    i32.const 92
                    i32.eq
                    br_if 0 (;@7;)
                    local.get 5
                    i32.const 34
                    i32.ne
                    br_if 1 (;@6;)
                    local.get 1
                    local.get 4
                    i32.store offset=4
                    local.get 1
                    local.get 7
                    i32.store
                    i32.const 1
                    local.set 6
                    br 6 (;@1;)
                  end
                  i32.const 0
                  local.set 6
                  local.get 9
                  local.get 8
                  i32.ge_u
                  br_if 5 (;@1;)
                  local.get 0
                  local.get 3
                  i32.const 2
                  i32.add
                  i32.store
                  local.get 3
                  i32.load8_u offset=1
                  local.tee 5
                  i32.const 117
                  i32.eq
                  br_if 2 (;@4;)
                  i32.const -8
                  local.set 3
                  loop ;; label = @7
                    block ;; label = @8
                      local.get 3
                      i32.const 16720
                      i32.add
                      i32.load8_u
                      local.get 5
                      i32.ne
                      br_if 0 (;@8;)
                      local.get 7
                      local.get 4
                      i32.add
                      local.get 3
                      i32.const 16977
                      i32.add
                      i32.load8_u
                      i32.store8
                      br 3 (;@5;)
                    end
                    local.get 3
                    i32.const 1
                    i32.add
                    local.tee 3
                    br_if 0 (;@7;)
                    br 6 (;@1;)
                  end
                end
                local.get 7
                local.get 4
                i32.add
                local.get 5
                i32.store8
              end
              local.get 4
              i32.const 1
              i32.add
              local.set 4
              br 1 (;@3;)
            end
            local.get 0
            local.get 2
            call 8
            i32.eqz
            br_if 2 (;@1;)
            block ;; label = @4
              block ;; label = @5
                block ;; label = @6
                  block ;; label = @7
                    local.get 2
                    i32.load
                    local.tee 5
                    i32.const -57344
                    i32.add
                    i32.const -2048
                    i32.lt_u
                    br_if 0 (;@7;)
                    i32.const 65533
                    local.set 3
                    block ;; label = @8
                      local.get 5
                      i32.const 56319
                      i32.gt_u
                      br_if 0 (;@8;)
                      local.get 0
                      i32.load offset=4
                      local.tee 8
                      local.get 0
                      i32.load
                      local.tee 6
                      i32.sub
                      i32.const 6
                      i32.lt_s
                      br_if 0 (;@8;)
                      local.get 6
                      i32.load8_u
                      i32.const 92
                      i32.ne
                      br_if 0 (;@8;)
                      local.get 6
                      i32.load8_u offset=1
                      i32.const 117
                      i32.ne
                      br_if 0 (;@8;)
                      local.get 2
                      local.get 8
                      i32.store offset=8
                      local.get 2
                      local.get 6
                      i32.const 2
                      i32.add
                      i32.store offset=4
                      i32.const 65533
                      local.set 3
                      local.get 2
                      i32.const 4
                      i32.add
                      local.get 2
                      i32.const 12
                      i32.add
                      call 8
                      i32.eqz
                      br_if 0 (;@8;)
                      local.get 2
                      i32.load offset=12
                      local.tee 6
                      i32.const -1024
                      i32.and
                      i32.const 56320
                      i32.ne
                      br_if 0 (;@8;)
                      local.get 0
                      local.get 2
                      i32.load offset=4
                      i32.store
                      local.get 5
                      i32.const 10
                      i32.shl
                      local.get 6
                      i32.add
                      i32.const -56613888
                      i32.add
                      local.set 3
                    end
                    local.get 7
                    local.get 4
                    i32.add
                    local.set 6
                    br 1 (;@6;)
                  end
                  local.get 7
                  local.get 4
                  i32.add
                  local.set 6
                  block ;; label = @7
                    local.get 5
                    i32.const 127
                    i32.gt_u
                    br_if 0 (;@7;)
                    local.get 6
                    local.get 5
                    i32.store8
                    i32.const 1
                    local.set 3
                    br 3 (;@4;)
                  end
                  local.get 5
                  i32.const 2047
                  i32.le_u
                  br_if 1 (;@5;)
                  local.get 5
                  local.set 3
                end
                local.get 7
                local.get 4
                i32.add
                local.set 5
                block ;; label = @6
                  local.get 3
                  i32.const 65535
                  i32.gt_u
                  br_if 0 (;@6;)
                  local.get 6
                  local.get 3
                  i32.const 12
                  i32.shr_u
                  i32.const 224
                  i32.or
                  i32.store8
                  local.get 5
                  local.get 3
                  i32.const 63
                  i32.and
                  i32.const 128
                  i32.or
                  i32.store8 offset=2
                  local.get 5
                  local.get 3
                  i32.const 6
                  i32.shr_u
                  i32.const 63
                  i32.and
                  i32.const 128
                  i32.or
                  i32.store8 offset=1
                  i32.const 3
                  local.set 3
                  br 2 (;@4;)
                end
                local.get 6
                local.get 3
                i32.const 18
                i32.shr_u
                i32.const 240
                i32.or
                i32.store8
                local.get 5
                local.get 3
                i32.const 63
                i32.and
                i32.const 128
                i32.or
                i32.store8 offset=3
                local.get 5
                local.get 3
                i32.const 6
                i32.shr_u
                i32.const 63
                i32.and
                i32.const 128
                i32.or
                i32.store8 offset=2
                local.get 5
                local.get 3
                i32.const 12
                i32.shr_u
                i32.const 63
                i32.and
                i32.const 128
                i32.or
                i32.store8 offset=1
                i32.const 4
                local.set 3
                br 1 (;@4;)
              end
              local.get 6
              local.get 5
              i32.const 63
              i32.and
              i32.const 128
              i32.or
              i32.store8 offset=1
              local.get 6
              local.get 5
              i32.const 6
              i32.shr_u
              i32.const 192
              i32.or
              i32.store8
              i32.const 2
              local.set 3
            end
            local.get 3
            local.get 4
            i32.add
            local.set 4
          end
          local.get 0
          i32.load
          local.tee 3
          local.get 0
          i32.load offset=4
          local.tee 8
          i32.lt_u
          br_if 0 (;@2;)
        end
        i32.const 0
        local.set 6
      end
      local.get 2
      i32.const 16
      i32.add
      global.set 0
      local.get 6
    )
    (func (;8;) (type 4) (param i32 i32) (result i32)
      (local i32 i32 i32 i32 i32)
      block ;; label = @1
        local.get 0
        i32.load offset=4
        local.get 0
        i32.load
        local.tee 2
        i32.sub
        i32.const 4
        i32.lt_s
        br_if 0 (;@1;)
        i32.const 0
        local.set 3
        local.get 1
        i32.const 0
        i32.store
        i32.const 0
        local.set 4
        loop ;; label = @2
          local.get 0
          local.get 2
          local.get 4
          i32.add
          local.tee 5
          i32.const 1
          i32.add
          i32.store
          block ;; label = @3
            local.get 5
            i32.load8_u
            local.tee 6
            i32.const -48
            i32.add
            local.tee 5
            i32.const 255
            i32.and
            i32.const 9
            i32.le_u
            br_if 0 (;@3;)
            local.get 6
            i32.const 32
            i32.or
            local.tee 5
            i32.const -97
            i32.add
            i32.const 255
            i32.and
            i32.const 5
            i32.gt_u
            br_if 2 (;@1;)
            local.get 5
            i32.const -87
            i32.add
            local.set 5
          end
          local.get 1
          local.get 3
          i32.const 4
          i32.shl
          local.get 5
          i32.or
          local.tee 3
          i32.store
          local.get 4
          i32.const 1
          i32.add
          local.tee 4
          i32.const 4
          i32.ne
          br_if 0 (;@2;)
        end
        i32.const 1
        return
      end
      i32.const 0
    )
    (func (;9;) (type 2) (param i32) (result i32)
      (local i32 i32 i32)
      i32.const 0
      local.set 1
      block ;; label = @1
        local.get 0
        i32.load offset=4
        local.tee 2
        i32.const -1
        i32.add
        i32.const 8
        i32.gt_u
        br_if 0 (;@1;)
        local.get 0
        i32.load
        local.set 0
        i32.const 0
        local.set 1
        loop ;; label = @2
          block ;; label = @3
            local.get 0
            i32.load8_u
            local.tee 3
            i32.const -58
            i32.add
            i32.const 255
            i32.and
            i32.const 246
            i32.ge_u
            br_if 0 (;@3;)
            i32.const 0
            return
          end
          local.get 1
          i32.const 10
          i32.mul
          local.get 3
          i32.const -48
          i32.add
          i32.const 255
          i32.and
          i32.add
          local.set 1
          local.get 0
          i32.const 1
          i32.add
          local.set 0
          local.get 2
          i32.const -1
          i32.add
          local.tee 2
          br_if 0 (;@2;)
        end
      end
      local.get 1
    )
    (func (;10;) (type 1) (param i32 i32)
      (local i32)
      block ;; label = @1
        local.get 1
        i32.load8_u
        local.tee 2
        i32.eqz
        br_if 0 (;@1;)
        local.get 1
        i32.const 1
        i32.add
        local.set 1
        loop ;; label = @2
          local.get 0
          local.get 2
          i32.extend8_s
          call 11
          local.get 1
          i32.load8_u
          local.set 2
          local.get 1
          i32.const 1
          i32.add
          local.set 1
          local.get 2
          br_if 0 (;@2;)
        end
      end
    )
    (func (;11;) (type 1) (param i32 i32)
      (local i32 i32 i32)
      block ;; label = @1
        block ;; label = @2
          local.get 0
          i32.load offset=4
          local.tee 2
          local.get 0
          i32.load offset=8
          i32.eq
          br_if 0 (;@2;)
          local.get 0
          i32.load
          local.set 3
          br 1 (;@1;)
        end
        local.get 0
        local.get 2
        i32.const 1
        i32.shl
        i32.const 256
        local.get 2
        select
        local.tee 4
        i32.store offset=8
        local.get 4
        call 22
        local.set 3
        block ;; label = @2
          block ;; label = @3
            local.get 0
            i32.load offset=4
            br_if 0 (;@3;)
            i32.const 0
            local.set 2
            br 1 (;@2;)
          end
          i32.const 0
          local.set 4
          loop ;; label = @3
            local.get 3
            local.get 4
            i32.add
            local.get 0
            i32.load
            local.get 4
            i32.add
            i32.load8_u
            i32.store8
            local.get 4
            i32.const 1
            i32.add
            local.tee 4
            local.get 0
            i32.load offset=4
            local.tee 2
            i32.lt_u
            br_if 0 (;@3;)
          end
        end
        local.get 0
        local.get 3
        i32.store
      end
      local.get 0
      local.get 2
      i32.const 1
      i32.add
      i32.store offset=4
      local.get 3
      local.get 2
      i32.add
      local.get 1
      i32.store8
    )
    (func (;12;) (type 1) (param i32 i32)
      (local i32 i32 i32 i32 i32 i32)
      local.get 0
      i32.const 34
      call 11
      block ;; label = @1
        local.get 1
        i32.load offset=4
        local.tee 2
        i32.eqz
        br_if 0 (;@1;)
        local.get 1
        i32.load
        local.set 3
        i32.const 0
        local.set 4
        loop ;; label = @2
          block ;; label = @3
            block ;; label = @4
              block ;; label = @5
                local.get 3
                local.get 4
                i32.add
                i32.load8_u
                local.tee 1
                i32.const 92
                i32.eq
                br_if 0 (;@5;)
                local.get 1
                i32.const 34
                i32.ne
                br_if 1 (;@4;)
              end
              local.get 0
              i32.const 92
              call 11
              br 1 (;@3;)
            end
            local.get 1
            i32.const 31
            i32.gt_u
            br_if 0 (;@3;)
            local.get 1
            i32.extend8_s
            local.set 5
            i32.const 92
            local.set 6
            i32.const 1
            local.set 1
            loop ;; label = @4
              local.get 0
              local.get 6
              i32.extend8_s
              call 11
              local.get 1
              i32.const 16901
              i32.add
              i32.load8_u
              local.set 6
              local.get 1
              i32.const 1
              i32.add
              local.tee 7
              local.set 1
              local.get 7
              i32.const 5
              i32.ne
              br_if 0 (;@4;)
            end
            local.get 0
            local.get 5
            i32.const 4
            i32.shr_u
            i32.load8_s offset=16992
            call 11
            local.get 5
            i32.const 15
            i32.and
            i32.load8_u offset=16992
            local.set 1
          end
          local.get 0
          local.get 1
          i32.extend8_s
          call 11
          local.get 4
          i32.const 1
          i32.add
          local.tee 4
          local.get 2
          i32.ne
          br_if 0 (;@2;)
        end
      end
      local.get 0
      i32.const 34
      call 11
    )
    (func (;13;) (type 1) (param i32 i32)
      (local i32 i32 i32 i32)
      global.get 0
      i32.const 16
      i32.sub
      local.tee 2
      global.set 0
      i32.const 0
      local.set 3
      loop ;; label = @1
        local.get 2
        i32.const 6
        i32.add
        local.get 3
        i32.add
        local.get 1
        local.get 1
        i32.const 10
        i32.div_u
        local.tee 4
        i32.const 10
        i32.mul
        i32.sub
        i32.const 48
        i32.or
        i32.store8
        local.get 3
        i32.const 1
        i32.add
        local.set 3
        local.get 1
        i32.const 9
        i32.gt_u
        local.set 5
        local.get 4
        local.set 1
        local.get 5
        br_if 0 (;@1;)
      end
      local.get 2
      i32.const 6
      i32.add
      i32.const -1
      i32.add
      local.set 1
      loop ;; label = @1
        local.get 0
        local.get 1
        local.get 3
        i32.add
        i32.load8_s
        call 11
        local.get 3
        i32.const -1
        i32.add
        local.tee 3
        br_if 0 (;@1;)
      end
      local.get 2
      i32.const 16
      i32.add
      global.set 0
    )
    (func (;14;) (type 1) (param i32 i32)
      (local i32)
      i32.const 28
      local.set 2
      loop ;; label = @1
        local.get 0
        local.get 1
        local.get 2
        i32.shr_u
        i32.const 15
        i32.and
        i32.load8_s offset=16992
        call 11
        local.get 2
        i32.const -4
        i32.add
        local.tee 2
        i32.const -4
        i32.ne
        br_if 0 (;@1;)
      end
    )
    (func (;15;) (type 5) (result i32)
      (local i32 i32)
      global.get 0
      i32.const 32
      i32.sub
      local.tee 0
      global.set 0
      i32.const 0
      i64.const 0
      i64.store offset=17073 align=1
      i32.const 0
      i32.const 0
      i32.store8 offset=17072
      i32.const 0
      i32.const 0
      i32.store offset=17080 align=1
      block ;; label = @1
        i32.const 16759
        local.get 0
        i32.const 24
        i32.add
        call 25
        i32.eqz
        br_if 0 (;@1;)
        local.get 0
        local.get 0
        i64.load offset=24 align=4
        i64.store
        i32.const 0
        local.get 0
        call 9
        local.tee 1
        i32.store offset=17064
        local.get 1
        br_if 0 (;@1;)
        local.get 0
        i32.const 0
        i32.store16 offset=13 align=1
        local.get 0
        i32.const 1
        i32.store8 offset=12
        local.get 0
        i32.const 0
        i32.store8 offset=15
        local.get 0
        i32.const 16
        i32.add
        i32.const 16906
        call 20
        i32.const 0
        local.get 0
        i32.load offset=20
        i32.store offset=17080
        i32.const 0
        local.get 0
        i64.load offset=12 align=4
        i64.store offset=17072 align=4
      end
      local.get 0
      i32.const 32
      i32.add
      global.set 0
      i32.const 17072
    )
    (func (;16;) (type 5) (result i32)
      (local i32)
      global.get 0
      i32.const 32
      i32.sub
      local.tee 0
      global.set 0
      local.get 0
      i32.const 8
      i32.add
      i32.const 17024
      call 20
      local.get 0
      i32.const 16
      i32.add
      i32.const 17046
      call 20
      local.get 0
      i32.const 24
      i32.add
      i32.const 17057
      call 20
      i32.const 0
      local.get 0
      i64.load offset=24 align=4
      i64.store offset=17100 align=4
      i32.const 0
      local.get 0
      i64.load offset=16 align=4
      i64.store offset=17092 align=4
      i32.const 0
      local.get 0
      i64.load offset=8 align=4
      i64.store offset=17084 align=4
      local.get 0
      i32.const 32
      i32.add
      global.set 0
      i32.const 17084
    )
    (func (;17;) (type 6) (param i32 i32 i32 i32) (result i32)
      (local i32 i32 i64)
      global.get 0
      i32.const 256
      i32.sub
      local.tee 4
      global.set 0
      local.get 4
      local.get 1
      i32.store offset=100
      local.get 4
      local.get 0
      i32.store offset=96
      local.get 4
      local.get 4
      i64.load offset=96 align=4
      i64.store offset=80
      block ;; label = @1
        block ;; label = @2
          block ;; label = @3
            block ;; label = @4
              block ;; label = @5
                block ;; label = @6
                  block ;; label = @7
                    local.get 4
                    i32.const 80
                    i32.add
                    i32.const 16721
                    call 21
                    i32.eqz
                    br_if 0 (;@7;)
                    local.get 4
                    local.get 3
                    i32.store offset=108
                    local.get 4
                    local.get 2
                    i32.store offset=104
                    local.get 4
                    local.get 4
                    i64.load offset=104
                    i64.store offset=64
                    local.get 4
                    i32.const 64
                    i32.add
                    i32.const 16707
                    local.get 4
                    i32.const 128
                    i32.add
                    call 6
                    local.set 1
                    local.get 4
                    local.get 4
                    i64.load offset=104
                    i64.store offset=56
                    block ;; label = @8
                      local.get 1
                      local.get 4
                      i32.const 56
                      i32.add
                      i32.const 16754
                      local.get 4
                      i32.const 120
                      i32.add
                      call 6
                      local.tee 0
                      i32.ne
                      br_if 0 (;@8;)
                      local.get 4
                      i32.const 0
                      i32.store offset=168
                      local.get 4
                      i64.const 0
                      i64.store offset=160
                      local.get 4
                      i32.const 240
                      i32.add
                      i32.const 16781
                      call 20
                      local.get 4
                      local.get 4
                      i64.load offset=240 align=4
                      i64.store offset=48
                      local.get 4
                      i32.const 160
                      i32.add
                      local.get 4
                      i32.const 48
                      i32.add
                      call 12
                      local.get 4
                      i32.const 0
                      i32.store16 offset=92
                      local.get 4
                      i32.const 0
                      i32.store8 offset=94
                      br 4 (;@4;)
                    end
                    local.get 0
                    i32.eqz
                    br_if 4 (;@3;)
                    local.get 4
                    i32.load offset=120
                    local.set 2
                    block ;; label = @8
                      block ;; label = @9
                        block ;; label = @10
                          local.get 4
                          i32.load offset=124
                          local.tee 3
                          i32.const 2
                          i32.lt_u
                          br_if 0 (;@10;)
                          local.get 2
                          i32.load8_u
                          local.tee 1
                          i32.const 126
                          i32.ne
                          br_if 1 (;@9;)
                          local.get 2
                          i32.load8_u offset=1
                          i32.const 47
                          i32.eq
                          br_if 2 (;@8;)
                          br 4 (;@6;)
                        end
                        local.get 3
                        i32.eqz
                        br_if 3 (;@6;)
                        local.get 2
                        i32.load8_u
                        local.set 1
                      end
                      local.get 1
                      i32.const 255
                      i32.and
                      i32.const 47
                      i32.ne
                      br_if 2 (;@6;)
                    end
                    local.get 2
                    local.set 0
                    br 2 (;@5;)
                  end
                  local.get 4
                  i32.const 0
                  i32.store offset=168
                  local.get 4
                  i64.const 0
                  i64.store offset=160
                  local.get 4
                  i32.const 240
                  i32.add
                  i32.const 16732
                  call 20
                  local.get 4
                  local.get 4
                  i64.load offset=240 align=4
                  i64.store offset=72
                  local.get 4
                  i32.const 160
                  i32.add
                  local.get 4
                  i32.const 72
                  i32.add
                  call 12
                  i32.const 0
                  i32.const 1
                  i32.store8 offset=17120
                  i32.const 0
                  local.get 4
                  i64.load offset=160
                  i64.store offset=17112
                  i32.const 0
                  i32.const 0
                  i32.store16 offset=17121 align=1
                  i32.const 0
                  i32.const 0
                  i32.store8 offset=17123
                  br 5 (;@1;)
                end
                i32.const 0
                local.set 1
                local.get 3
                i32.const 8
                i32.add
                local.tee 5
                call 22
                local.set 0
                loop ;; label = @6
                  local.get 0
                  local.get 1
                  i32.add
                  local.get 1
                  i32.const 16810
                  i32.add
                  i32.load8_u
                  i32.store8
                  local.get 1
                  i32.const 1
                  i32.add
                  local.tee 1
                  i32.const 8
                  i32.ne
                  br_if 0 (;@6;)
                end
                block ;; label = @6
                  local.get 3
                  br_if 0 (;@6;)
                  i32.const 8
                  local.set 3
                  br 1 (;@5;)
                end
                i32.const 0
                local.set 1
                loop ;; label = @6
                  local.get 0
                  local.get 1
                  i32.add
                  i32.const 8
                  i32.add
                  local.get 2
                  local.get 1
                  i32.add
                  i32.load8_u
                  i32.store8
                  local.get 3
                  local.get 1
                  i32.const 1
                  i32.add
                  local.tee 1
                  i32.ne
                  br_if 0 (;@6;)
                end
                local.get 5
                local.set 3
              end
              local.get 4
              local.get 3
              i32.store offset=116
              local.get 4
              local.get 0
              i32.store offset=112
              local.get 4
              local.get 4
              i64.load offset=112 align=4
              i64.store offset=40
              local.get 4
              i32.const 40
              i32.add
              local.get 4
              i32.const 128
              i32.add
              call 26
              br_if 1 (;@3;)
              local.get 4
              i32.const 0
              i32.store offset=168
              local.get 4
              i64.const 0
              i64.store offset=160
              local.get 4
              local.get 4
              i64.load offset=128
              i64.store offset=32
              local.get 4
              i32.const 160
              i32.add
              local.get 4
              i32.const 32
              i32.add
              call 12
              local.get 4
              i32.const 0
              i32.store16 offset=92
              local.get 4
              i32.const 0
              i32.store8 offset=94
            end
            local.get 4
            i64.load offset=160
            local.set 6
            i32.const 1
            local.set 1
            br 1 (;@2;)
          end
          local.get 4
          local.get 4
          i64.load offset=128
          local.tee 6
          i64.store offset=136
          local.get 4
          local.get 6
          i64.store offset=24
          local.get 4
          i32.const 240
          i32.add
          local.get 4
          i32.const 24
          i32.add
          call 3
          local.get 4
          local.get 4
          i64.load offset=136
          i64.store offset=16
          i32.const 0
          local.set 1
          local.get 4
          i32.const 0
          i32.store offset=152
          local.get 4
          i64.const 0
          i64.store offset=144
          local.get 4
          i32.const 16
          i32.add
          local.get 4
          i32.const 160
          i32.add
          call 5
          local.get 4
          i32.const 144
          i32.add
          i32.const 16834
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 6
          i64.const 32
          i64.shr_u
          i32.wrap_i64
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16819
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.load offset=240
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16874
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.load offset=244
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16864
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.load offset=248
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16884
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.load offset=252
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16844
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.load offset=244
          i32.const 0
          i32.load offset=17064
          local.tee 0
          i32.add
          i32.const -1
          i32.add
          local.get 0
          i32.div_u
          call 13
          local.get 4
          i32.const 144
          i32.add
          i32.const 16958
          call 10
          local.get 4
          local.get 4
          i64.load offset=136
          i64.store offset=8
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.const 8
          i32.add
          call 4
          call 14
          local.get 4
          i32.const 144
          i32.add
          i32.const 16945
          call 10
          local.get 4
          i32.const 144
          i32.add
          local.get 4
          i32.const 160
          i32.add
          call 10
          local.get 4
          i32.const 144
          i32.add
          i32.const 16704
          call 10
          local.get 4
          i32.const 0
          i32.store16 offset=92
          local.get 4
          i32.const 0
          i32.store8 offset=94
          local.get 4
          i64.load offset=144
          local.set 6
        end
        i32.const 0
        local.get 1
        i32.store8 offset=17120
        i32.const 0
        local.get 6
        i64.store offset=17112
        i32.const 0
        local.get 4
        i32.load16_u offset=92
        i32.store16 offset=17121 align=1
        i32.const 0
        local.get 4
        i32.load8_u offset=94
        i32.store8 offset=17123
      end
      local.get 4
      i32.const 256
      i32.add
      global.set 0
      i32.const 17112
    )
    (func (;18;) (type 7) (param i32)
      call 23
    )
    (func (;19;) (type 8)
      i32.const 1
      i32.const 16776
      call 27
    )
    (func (;20;) (type 1) (param i32 i32)
      (local i32 i32 i32)
      i32.const 0
      local.set 2
      loop ;; label = @1
        local.get 1
        local.get 2
        i32.add
        local.set 3
        local.get 2
        i32.const 1
        i32.add
        local.tee 4
        local.set 2
        local.get 3
        i32.load8_u
        br_if 0 (;@1;)
      end
      local.get 0
      local.get 1
      i32.store
      local.get 0
      local.get 4
      i32.const -1
      i32.add
      i32.store offset=4
    )
    (func (;21;) (type 4) (param i32 i32) (result i32)
      (local i32 i32 i32 i32 i32)
      i32.const 0
      local.set 2
      loop ;; label = @1
        local.get 1
        local.get 2
        i32.add
        local.set 3
        local.get 2
        i32.const 1
        i32.add
        local.tee 4
        local.set 2
        local.get 3
        i32.load8_u
        br_if 0 (;@1;)
      end
      i32.const 0
      local.set 5
      block ;; label = @1
        local.get 0
        i32.load offset=4
        i32.const 1
        i32.add
        local.get 4
        i32.ne
        br_if 0 (;@1;)
        i32.const 1
        local.set 5
        local.get 4
        i32.const 1
        i32.eq
        br_if 0 (;@1;)
        local.get 4
        i32.const -2
        i32.add
        local.set 6
        local.get 0
        i32.load
        local.set 0
        i32.const 0
        local.set 2
        loop ;; label = @2
          local.get 0
          local.get 2
          i32.add
          i32.load8_u
          local.tee 3
          local.get 1
          local.get 2
          i32.add
          i32.load8_u
          local.tee 4
          i32.eq
          local.set 5
          local.get 3
          local.get 4
          i32.ne
          br_if 1 (;@1;)
          local.get 6
          local.get 2
          i32.ne
          local.set 3
          local.get 2
          i32.const 1
          i32.add
          local.set 2
          local.get 3
          br_if 0 (;@2;)
        end
      end
      local.get 5
    )
    (func (;22;) (type 2) (param i32) (result i32)
      (local i32 i64 i64)
      block ;; label = @1
        i32.const 0
        i32.load offset=17124
        local.tee 1
        br_if 0 (;@1;)
        i32.const 17136
        local.set 1
        i32.const 0
        i32.const 17136
        i32.store offset=17124
      end
      block ;; label = @1
        local.get 1
        i32.const 7
        i32.add
        i32.const -8
        i32.and
        local.tee 1
        i64.extend_i32_u
        local.get 0
        i64.extend_i32_u
        i64.add
        local.tee 2
        memory.size
        i64.extend_i32_u
        i64.const 16
        i64.shl
        local.tee 3
        i64.le_u
        br_if 0 (;@1;)
        local.get 2
        local.get 3
        i64.sub
        i64.const 65535
        i64.add
        i64.const 16
        i64.shr_u
        i32.wrap_i64
        memory.grow
        i32.const -1
        i32.ne
        br_if 0 (;@1;)
        unreachable
      end
      i32.const 0
      local.get 2
      i64.store32 offset=17124
      local.get 1
    )
    (func (;23;) (type 8)
      i32.const 0
      i32.const 0
      i32.store offset=17124
    )
    (func (;24;) (type 6) (param i32 i32 i32 i32) (result i32)
      (local i32)
      local.get 3
      call 22
      local.set 4
      block ;; label = @1
        local.get 1
        local.get 3
        local.get 1
        local.get 3
        i32.lt_u
        select
        local.tee 1
        i32.eqz
        br_if 0 (;@1;)
        local.get 4
        local.set 3
        loop ;; label = @2
          local.get 3
          local.get 0
          i32.load8_u
          i32.store8
          local.get 0
          i32.const 1
          i32.add
          local.set 0
          local.get 3
          i32.const 1
          i32.add
          local.set 3
          local.get 1
          i32.const -1
          i32.add
          local.tee 1
          br_if 0 (;@2;)
        end
      end
      local.get 4
    )
    (func (;25;) (type 4) (param i32 i32) (result i32)
      (local i32 i32 i32 i32)
      global.get 0
      i32.const 16
      i32.sub
      local.tee 2
      global.set 0
      i32.const 0
      local.set 3
      loop ;; label = @1
        local.get 0
        local.get 3
        i32.add
        local.set 4
        local.get 3
        i32.const 1
        i32.add
        local.tee 5
        local.set 3
        local.get 4
        i32.load8_u
        br_if 0 (;@1;)
      end
      local.get 0
      local.get 5
      i32.const -1
      i32.add
      local.get 2
      i32.const 4
      i32.add
      call 0
      local.get 1
      local.get 2
      i64.load offset=8 align=4
      i64.store align=4
      local.get 2
      i32.load8_u offset=4
      local.set 3
      local.get 2
      i32.const 16
      i32.add
      global.set 0
      local.get 3
      i32.const 1
      i32.eq
    )
    (func (;26;) (type 4) (param i32 i32) (result i32)
      (local i32)
      global.get 0
      i32.const 16
      i32.sub
      local.tee 2
      global.set 0
      local.get 0
      i32.load
      local.get 0
      i32.load offset=4
      local.get 2
      i32.const 4
      i32.add
      call 1
      local.get 1
      local.get 2
      i64.load offset=8 align=4
      i64.store align=4
      local.get 2
      i32.load8_u offset=4
      local.set 0
      local.get 2
      i32.const 16
      i32.add
      global.set 0
      local.get 0
      i32.eqz
    )
    (func (;27;) (type 1) (param i32 i32)
      (local i32 i32 i32)
      i32.const 0
      local.set 2
      loop ;; label = @1
        local.get 1
        local.get 2
        i32.add
        local.set 3
        local.get 2
        i32.const 1
        i32.add
        local.tee 4
        local.set 2
        local.get 3
        i32.load8_u
        br_if 0 (;@1;)
      end
      local.get 0
      local.get 1
      local.get 4
      i32.const -1
      i32.add
      call 2
    )
    (data (;0;) (i32.const 16384) "0123456789abcdef\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00g\e6\09j\85\aeg\bbr\f3n<:\f5O\a5\7fR\0eQ\8ch\05\9b\ab\d9\83\1f\19\cd\e0[\98/\8aB\91D7q\cf\fb\c0\b5\a5\db\b5\e9[\c2V9\f1\11\f1Y\a4\82?\92\d5^\1c\ab\98\aa\07\d8\01[\83\12\be\851$\c3}\0cUt]\ber\fe\b1\de\80\a7\06\dc\9bt\f1\9b\c1\c1i\9b\e4\86G\be\ef\c6\9d\c1\0f\cc\a1\0c$o,\e9-\aa\84tJ\dc\a9\b0\5c\da\88\f9vRQ>\98m\c61\a8\c8'\03\b0\c7\7fY\bf\f3\0b\e0\c6G\91\a7\d5Qc\ca\06g))\14\85\0a\b7'8!\1b.\fcm,M\13\0d8STs\0ae\bb\0ajv.\c9\c2\81\85,r\92\a1\e8\bf\a2Kf\1a\a8p\8bK\c2\a3Ql\c7\19\e8\92\d1$\06\99\d6\855\0e\f4p\a0j\10\16\c1\a4\19\08l7\1eLwH'\b5\bc\b04\b3\0c\1c9J\aa\d8NO\ca\9c[\f3o.h\ee\82\8ftoc\a5x\14x\c8\84\08\02\c7\8c\fa\ff\be\90\eblP\a4\f7\a3\f9\be\f2xq\c6\22}\00text\00\22\5c/bfnrt\00text_facts\00There is no such tool\00path\00words_per_minute\00done\00Give either `text` or `path`\00project:\00,\22characters\22:\00{\22bytes\22:\00,\22reading_minutes\22:\00,\22lines\22:\00,\22words\22:\00,\22longest_line\22:\00\5cu00\00words_per_minute has to be more than 0\00\22,\22sha256\22:\22\00,\22crc32\22:\22\00\22\5c/\08\0c\0a\0d\09\00\00\00\00\00\00\00\00\00\00\00\00\00\00\000123456789abcdef\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00org.clawft.text-facts\00Text facts\001.0.0\00")
    (data (;1;) (i32.const 17064) "\c8\00\00\00")
    (@producers
      (processed-by "wit-component" "0.259.0")
    )
  )
  (core module $wit-component-shim-module (;1;)
    (type (;0;) (func (param i32 i32 i32)))
    (table (;0;) 3 3 funcref)
    (export "0" (func 0))
    (export "1" (func 1))
    (export "2" (func 2))
    (export "$imports" (table 0))
    (func (;0;) (type 0) (param i32 i32 i32)
      local.get 0
      local.get 1
      local.get 2
      i32.const 0
      call_indirect (type 0)
    )
    (func (;1;) (type 0) (param i32 i32 i32)
      local.get 0
      local.get 1
      local.get 2
      i32.const 1
      call_indirect (type 0)
    )
    (func (;2;) (type 0) (param i32 i32 i32)
      local.get 0
      local.get 1
      local.get 2
      i32.const 2
      call_indirect (type 0)
    )
    (@producers
      (processed-by "wit-component" "0.259.0")
    )
  )
  (core instance $wit-component-shim-instance (;0;) (instantiate $wit-component-shim-module))
  (alias export $clawft:plugin/types@0.1.0 "plugin-info" (type $plugin-info (;2;)))
  (alias export $clawft:plugin/types@0.1.0 "tool-call" (type $tool-call (;3;)))
  (alias export $clawft:plugin/types@0.1.0 "tool-result" (type $tool-result (;4;)))
  (alias core export $wit-component-shim-instance "0" (core func $indirect-clawft:plugin/host@0.1.0-get-config (;0;)))
  (alias core export $wit-component-shim-instance "1" (core func $indirect-clawft:plugin/host@0.1.0-read-file (;1;)))
  (alias core export $wit-component-shim-instance "2" (core func $indirect-clawft:plugin/host@0.1.0-log (;2;)))
  (core instance $clawft:plugin/host@0.1.0 (;1;)
    (export "get-config" (func $indirect-clawft:plugin/host@0.1.0-get-config))
    (export "read-file" (func $indirect-clawft:plugin/host@0.1.0-read-file))
    (export "log" (func $indirect-clawft:plugin/host@0.1.0-log))
  )
  (core instance $main (;2;) (instantiate $main
      (with "clawft:plugin/host@0.1.0" (instance $clawft:plugin/host@0.1.0))
    )
  )
  (alias core export $main "memory" (core memory $memory (;0;)))
  (core module $wit-component-fixup (;2;)
    (type (;0;) (func (param i32 i32 i32)))
    (import "actual" "0" (func (;0;) (type 0)))
    (import "actual" "1" (func (;1;) (type 0)))
    (import "actual" "2" (func (;2;) (type 0)))
    (import "shim" "$imports" (table (;0;) 3 3 funcref))
    (elem (;0;) (i32.const 0) func 0 1 2)
    (@producers
      (processed-by "wit-component" "0.259.0")
    )
  )
  (alias export $clawft:plugin/host@0.1.0 "get-config" (func $get-config (;0;)))
  (alias core export $main "cabi_realloc" (core func $cabi_realloc (;3;)))
  (core func $"#core-func4 indirect-clawft:plugin/host@0.1.0-get-config" (@name "indirect-clawft:plugin/host@0.1.0-get-config") (;4;) (canon lower (func $get-config) (memory $memory) (realloc $cabi_realloc) string-encoding=utf8))
  (alias export $clawft:plugin/host@0.1.0 "read-file" (func $read-file (;1;)))
  (core func $"#core-func5 indirect-clawft:plugin/host@0.1.0-read-file" (@name "indirect-clawft:plugin/host@0.1.0-read-file") (;5;) (canon lower (func $read-file) (memory $memory) (realloc $cabi_realloc) string-encoding=utf8))
  (alias export $clawft:plugin/host@0.1.0 "log" (func $log (;2;)))
  (core func $"#core-func6 indirect-clawft:plugin/host@0.1.0-log" (@name "indirect-clawft:plugin/host@0.1.0-log") (;6;) (canon lower (func $log) (memory $memory) string-encoding=utf8))
  (core instance $actual (;3;)
    (export "0" (func $"#core-func4 indirect-clawft:plugin/host@0.1.0-get-config"))
    (export "1" (func $"#core-func5 indirect-clawft:plugin/host@0.1.0-read-file"))
    (export "2" (func $"#core-func6 indirect-clawft:plugin/host@0.1.0-log"))
  )
  (core instance $fixup (;4;) (instantiate $wit-component-fixup
      (with "actual" (instance $actual))
      (with "shim" (instance $wit-component-shim-instance))
    )
  )
  (type (;5;) (func (result $plugin-info)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#info" (core func $clawft:plugin/plugin@0.1.0#info (;7;)))
  (func $info (;3;) (type 5) (canon lift (core func $clawft:plugin/plugin@0.1.0#info) (memory $memory) string-encoding=utf8))
  (type (;6;) (result (error string)))
  (type (;7;) (func (result 6)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#init" (core func $clawft:plugin/plugin@0.1.0#init (;8;)))
  (func $init (;4;) (type 7) (canon lift (core func $clawft:plugin/plugin@0.1.0#init) (memory $memory) string-encoding=utf8))
  (type (;8;) (func (param "call" $tool-call) (result $tool-result)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#execute-tool" (core func $clawft:plugin/plugin@0.1.0#execute-tool (;9;)))
  (alias core export $main "cabi_post_clawft:plugin/plugin@0.1.0#execute-tool" (core func $cabi_post_clawft:plugin/plugin@0.1.0#execute-tool (;10;)))
  (func $execute-tool (;5;) (type 8) (canon lift (core func $clawft:plugin/plugin@0.1.0#execute-tool) (memory $memory) (realloc $cabi_realloc) string-encoding=utf8 (post-return $cabi_post_clawft:plugin/plugin@0.1.0#execute-tool)))
  (type (;9;) (func))
  (alias core export $main "clawft:plugin/plugin@0.1.0#shutdown" (core func $clawft:plugin/plugin@0.1.0#shutdown (;11;)))
  (func $shutdown (;6;) (type 9) (canon lift (core func $clawft:plugin/plugin@0.1.0#shutdown)))
  (component $clawft:plugin/plugin@0.1.0-shim-component (;0;)
    (type (;0;) (record (field "id" string) (field "name" string) (field "version" string)))
    (import "import-type-plugin-info" (type (;1;) (eq 0)))
    (type (;2;) (record (field "name" string) (field "arguments" string)))
    (import "import-type-tool-call" (type (;3;) (eq 2)))
    (type (;4;) (record (field "content" string) (field "is-error" bool)))
    (import "import-type-tool-result" (type (;5;) (eq 4)))
    (import "import-type-plugin-info0" (type (;6;) (eq 1)))
    (type (;7;) (func (result 6)))
    (import "import-func-info" (func (;0;) (type 7)))
    (type (;8;) (result (error string)))
    (type (;9;) (func (result 8)))
    (import "import-func-init" (func (;1;) (type 9)))
    (import "import-type-tool-call0" (type (;10;) (eq 3)))
    (import "import-type-tool-result0" (type (;11;) (eq 5)))
    (type (;12;) (func (param "call" 10) (result 11)))
    (import "import-func-execute-tool" (func (;2;) (type 12)))
    (type (;13;) (func))
    (import "import-func-shutdown" (func (;3;) (type 13)))
    (export (;14;) "plugin-info" (type 1))
    (export (;15;) "tool-call" (type 3))
    (export (;16;) "tool-result" (type 5))
    (type (;17;) (func (result 14)))
    (export (;4;) "info" (func 0) (func (type 17)))
    (type (;18;) (result (error string)))
    (type (;19;) (func (result 18)))
    (export (;5;) "init" (func 1) (func (type 19)))
    (type (;20;) (func (param "call" 15) (result 16)))
    (export (;6;) "execute-tool" (func 2) (func (type 20)))
    (type (;21;) (func))
    (export (;7;) "shutdown" (func 3) (func (type 21)))
  )
  (instance $clawft:plugin/plugin@0.1.0-shim-instance (;2;) (instantiate $clawft:plugin/plugin@0.1.0-shim-component
      (with "import-func-info" (func $info))
      (with "import-func-init" (func $init))
      (with "import-func-execute-tool" (func $execute-tool))
      (with "import-func-shutdown" (func $shutdown))
      (with "import-type-plugin-info" (type $plugin-info))
      (with "import-type-tool-call" (type $tool-call))
      (with "import-type-tool-result" (type $tool-result))
      (with "import-type-plugin-info0" (type $plugin-info))
      (with "import-type-tool-call0" (type $tool-call))
      (with "import-type-tool-result0" (type $tool-result))
    )
  )
  (export $clawft:plugin/plugin@0.1.0 (;3;) "clawft:plugin/plugin@0.1.0" (instance $clawft:plugin/plugin@0.1.0-shim-instance))
  (@producers
    (processed-by "wit-component" "0.259.0")
  )
)
