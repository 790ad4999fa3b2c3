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
  (core module $main (;0;)
    (type (;0;) (func (param i32 i32 i32 i32) (result i32)))
    (type (;1;) (func (param i32)))
    (type (;2;) (func (result i32)))
    (type (;3;) (func))
    (table (;0;) 1 1 funcref)
    (memory (;0;) 17)
    (global (;0;) (mut i32) i32.const 16384)
    (export "memory" (memory 0))
    (export "cabi_realloc" (func 0))
    (export "clawft:plugin/plugin@0.1.0#execute-tool" (func 1))
    (export "cabi_post_clawft:plugin/plugin@0.1.0#execute-tool" (func 2))
    (export "clawft:plugin/plugin@0.1.0#info" (func 3))
    (export "clawft:plugin/plugin@0.1.0#init" (func 4))
    (export "clawft:plugin/plugin@0.1.0#shutdown" (func 5))
    (func (;0;) (type 0) (param i32 i32 i32 i32) (result i32)
      (local i32)
      block ;; label = @1
        local.get 3
        i32.const 1048576
        i32.const 0
        i32.load offset=16808
        local.tee 4
        i32.sub
        i32.le_u
        br_if 0 (;@1;)
        unreachable
      end
      i32.const 0
      local.get 3
      local.get 4
      i32.add
      i32.const 7
      i32.add
      i32.const -8
      i32.and
      local.tee 3
      i32.const 1048576
      local.get 3
      i32.const 1048576
      i32.lt_u
      select
      i32.store offset=16808
      local.get 4
      i32.const 16816
      i32.add
    )
    (func (;1;) (type 0) (param i32 i32 i32 i32) (result i32)
      (local i32 i32 i32 i32 i32 i32 i32 i32 i32)
      global.get 0
      i32.const 16
      i32.sub
      local.set 4
      block ;; label = @1
        block ;; label = @2
          local.get 3
          br_if 0 (;@2;)
          i32.const 0
          local.set 5
          br 1 (;@1;)
        end
        i32.const 0
        local.set 6
        i32.const 0
        local.set 7
        loop ;; label = @2
          local.get 6
          i32.const 1
          i32.add
          local.tee 5
          local.get 3
          i32.ge_u
          br_if 1 (;@1;)
          local.get 2
          local.get 6
          i32.add
          local.set 8
          local.get 5
          local.set 6
          local.get 7
          local.get 8
          i32.load8_u
          i32.const 34
          i32.eq
          i32.add
          local.tee 7
          i32.const 3
          i32.lt_u
          br_if 0 (;@2;)
        end
      end
      i32.const 33
      local.set 9
      i32.const 16384
      local.set 10
      block ;; label = @1
        block ;; label = @2
          local.get 5
          local.get 3
          i32.ge_u
          br_if 0 (;@2;)
          i32.const 0
          local.set 11
          i32.const 0
          local.set 6
          block ;; label = @3
            loop ;; label = @4
              local.get 11
              local.set 12
              local.get 2
              local.get 5
              i32.add
              i32.load8_u
              local.tee 7
              i32.const 34
              i32.eq
              br_if 1 (;@3;)
              block ;; label = @5
                block ;; label = @6
                  block ;; label = @7
                    block ;; label = @8
                      local.get 7
                      i32.const 92
                      i32.eq
                      br_if 0 (;@8;)
                      local.get 7
                      i32.const 32
                      i32.eq
                      local.set 7
                      br 1 (;@7;)
                    end
                    i32.const 0
                    local.set 7
                    local.get 5
                    i32.const 1
                    i32.add
                    local.tee 8
                    local.get 3
                    i32.lt_u
                    br_if 1 (;@6;)
                  end
                  local.get 5
                  local.set 8
                  br 1 (;@5;)
                end
                local.get 2
                local.get 8
                i32.add
                i32.load8_u
                i32.const -102
                i32.add
                local.tee 5
                i32.const 7
                i32.shl
                local.get 5
                i32.const 254
                i32.and
                i32.const 1
                i32.shr_u
                i32.or
                i32.const 255
                i32.and
                local.tee 5
                i32.const 7
                i32.gt_u
                br_if 0 (;@5;)
                i32.const 1
                local.get 5
                i32.shl
                i32.const 209
                i32.and
                i32.eqz
                br_if 0 (;@5;)
                i32.const 1
                local.set 7
              end
              local.get 7
              i32.const 1
              i32.xor
              local.set 11
              local.get 6
              local.get 12
              local.get 7
              i32.or
              i32.const -1
              i32.xor
              i32.const 1
              i32.and
              i32.add
              local.set 6
              local.get 8
              i32.const 1
              i32.add
              local.tee 5
              local.get 3
              i32.lt_u
              br_if 0 (;@4;)
            end
          end
          local.get 6
          i32.eqz
          br_if 0 (;@2;)
          i32.const 0
          local.set 5
          loop ;; label = @3
            local.get 4
            i32.const 6
            i32.add
            local.get 5
            i32.add
            local.get 6
            local.get 6
            i32.const 10
            i32.div_u
            local.tee 7
            i32.const 10
            i32.mul
            i32.sub
            i32.const 48
            i32.or
            i32.store8
            local.get 5
            i32.const 1
            i32.add
            local.set 5
            local.get 6
            i32.const 9
            i32.gt_u
            local.set 8
            local.get 7
            local.set 6
            local.get 8
            br_if 0 (;@3;)
          end
          i32.const 1
          local.set 6
          block ;; label = @3
            local.get 5
            i32.eqz
            br_if 0 (;@3;)
            local.get 4
            i32.const 6
            i32.add
            i32.const -1
            i32.add
            local.set 7
            i32.const 0
            local.set 6
            loop ;; label = @4
              local.get 6
              i32.const 16449
              i32.add
              local.get 7
              local.get 5
              i32.add
              i32.load8_u
              i32.store8
              local.get 7
              i32.const -1
              i32.add
              local.set 7
              local.get 5
              local.get 6
              i32.const 1
              i32.add
              local.tee 6
              i32.ne
              br_if 0 (;@4;)
            end
            local.get 6
            i32.const 1
            i32.add
            local.set 6
          end
          i32.const 0
          local.set 5
          loop ;; label = @3
            local.get 6
            local.get 5
            i32.add
            i32.const 16448
            i32.add
            local.get 5
            i32.const 16432
            i32.add
            i32.load8_u
            i32.store8
            local.get 5
            i32.const 1
            i32.add
            local.tee 5
            i32.const 7
            i32.ne
            br_if 0 (;@3;)
          end
          local.get 6
          local.get 5
          i32.add
          local.set 9
          i32.const 0
          local.set 5
          i32.const 16448
          local.set 10
          br 1 (;@1;)
        end
        i32.const 1
        local.set 5
      end
      i32.const 0
      local.get 5
      i32.store8 offset=1065400
      i32.const 0
      local.get 9
      i32.store offset=1065396
      i32.const 0
      local.get 10
      i32.store offset=1065392
      i32.const 0
      i32.const 0
      i32.store16 offset=1065401 align=1
      i32.const 0
      i32.const 0
      i32.store8 offset=1065403
      i32.const 1065392
    )
    (func (;2;) (type 1) (param i32)
      i32.const 0
      i32.const 0
      i32.store offset=16808
    )
    (func (;3;) (type 2) (result i32)
      (local i32 i32 i32 i32 i32)
      i32.const -1
      local.set 0
      loop ;; label = @1
        local.get 0
        i32.const 16481
        i32.add
        local.set 1
        local.get 0
        i32.const 1
        i32.add
        local.tee 2
        local.set 0
        local.get 1
        i32.load8_u
        br_if 0 (;@1;)
      end
      i32.const -1
      local.set 0
      loop ;; label = @1
        local.get 0
        i32.const 16625
        i32.add
        local.set 1
        local.get 0
        i32.const 1
        i32.add
        local.tee 3
        local.set 0
        local.get 1
        i32.load8_u
        br_if 0 (;@1;)
      end
      i32.const -1
      local.set 0
      loop ;; label = @1
        local.get 0
        i32.const 16737
        i32.add
        local.set 1
        local.get 0
        i32.const 1
        i32.add
        local.tee 4
        local.set 0
        local.get 1
        i32.load8_u
        br_if 0 (;@1;)
      end
      i32.const 0
      local.get 4
      i32.store offset=1065424
      i32.const 0
      i32.const 16736
      i32.store offset=1065420
      i32.const 0
      local.get 3
      i32.store offset=1065416
      i32.const 0
      i32.const 16624
      i32.store offset=1065412
      i32.const 0
      local.get 2
      i32.store offset=1065408
      i32.const 0
      i32.const 16480
      i32.store offset=1065404
      i32.const 1065404
    )
    (func (;4;) (type 2) (result i32)
      i32.const 16420
    )
    (func (;5;) (type 3))
    (data (;0;) (i32.const 16384) "\22There are no words in this text\22\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00 words\22\00")
    (data (;1;) (i32.const 16448) "\220123456789 words\22\00")
    (data (;2;) (i32.const 16480) "{{id}}")
    (data (;3;) (i32.const 16624) "{{title}}")
    (data (;4;) (i32.const 16736) "0.1.0")
    (@producers
      (processed-by "wit-component" "0.259.0")
    )
  )
  (alias export $clawft:plugin/types@0.1.0 "plugin-info" (type $plugin-info (;1;)))
  (alias export $clawft:plugin/types@0.1.0 "tool-call" (type $tool-call (;2;)))
  (alias export $clawft:plugin/types@0.1.0 "tool-result" (type $tool-result (;3;)))
  (core instance $main (;0;) (instantiate $main))
  (alias core export $main "memory" (core memory $memory (;0;)))
  (type (;4;) (func (result $plugin-info)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#info" (core func $clawft:plugin/plugin@0.1.0#info (;0;)))
  (func $info (;0;) (type 4) (canon lift (core func $clawft:plugin/plugin@0.1.0#info) (memory $memory) string-encoding=utf8))
  (type (;5;) (result (error string)))
  (type (;6;) (func (result 5)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#init" (core func $clawft:plugin/plugin@0.1.0#init (;1;)))
  (func $init (;1;) (type 6) (canon lift (core func $clawft:plugin/plugin@0.1.0#init) (memory $memory) string-encoding=utf8))
  (type (;7;) (func (param "call" $tool-call) (result $tool-result)))
  (alias core export $main "clawft:plugin/plugin@0.1.0#execute-tool" (core func $clawft:plugin/plugin@0.1.0#execute-tool (;2;)))
  (alias core export $main "cabi_realloc" (core func $cabi_realloc (;3;)))
  (alias core export $main "cabi_post_clawft:plugin/plugin@0.1.0#execute-tool" (core func $cabi_post_clawft:plugin/plugin@0.1.0#execute-tool (;4;)))
  (func $execute-tool (;2;) (type 7) (canon lift (core func $clawft:plugin/plugin@0.1.0#execute-tool) (memory $memory) (realloc $cabi_realloc) string-encoding=utf8 (post-return $cabi_post_clawft:plugin/plugin@0.1.0#execute-tool)))
  (type (;8;) (func))
  (alias core export $main "clawft:plugin/plugin@0.1.0#shutdown" (core func $clawft:plugin/plugin@0.1.0#shutdown (;5;)))
  (func $shutdown (;3;) (type 8) (canon lift (core func $clawft:plugin/plugin@0.1.0#shutdown)))
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
  (instance $clawft:plugin/plugin@0.1.0-shim-instance (;1;) (instantiate $clawft:plugin/plugin@0.1.0-shim-component
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
  (export $clawft:plugin/plugin@0.1.0 (;2;) "clawft:plugin/plugin@0.1.0" (instance $clawft:plugin/plugin@0.1.0-shim-instance))
  (@producers
    (processed-by "wit-component" "0.259.0")
  )
)
