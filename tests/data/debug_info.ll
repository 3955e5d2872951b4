target triple = "nvptx64-nvidia-cuda"

%S = type { i32, ptr }

@counter = internal addrspace(1) global i32 3, align 4, !dbg !0
@table = addrspace(4) constant [2 x i32] [i32 1, i32 2], align 4, !dbg !7
@unused = internal addrspace(1) global i32 3, align 4, !dbg !45

define internal i32 @helper(i32 %x, ptr %q) #0 !dbg !20 {
entry:
  %s = alloca %S, align 8
    #dbg_value(i32 %x, !23, !DIExpression(), !24)
    #dbg_declare(ptr %s, !26, !DIExpression(), !24)
    #dbg_value(!DIArgList(i32 %x, i32 %x), !23, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !24)
    #dbg_value(ptr addrspace(1) @counter, !26, !DIExpression(), !24)
  store volatile i32 %x, ptr %s, align 4, !dbg !24
  %v = load volatile i32, ptr %s, align 4, !dbg !25
  %y = mul i32 %v, 3, !dbg !25
  ret i32 %y, !dbg !25
}

define ptx_kernel void @first(ptr %p, i32 %n) #0 !dbg !30 {
entry:
    #dbg_value(ptr %p, !33, !DIExpression(), !34)
  %r = call i32 @helper(i32 %n, ptr %p), !dbg !34
  %c = load i32, ptr addrspace(1) @counter, align 4, !dbg !35
  %t = add i32 %r, %c, !dbg !36
  store i32 %t, ptr %p, align 4, !dbg !36
  ret void, !dbg !37
}

define ptx_kernel void @second(ptr %p, i32 %n) #0 !dbg !40 {
entry:
    #dbg_value(i32 %n, !42, !DIExpression(), !43)
  %r = call i32 @helper(i32 %n, ptr %p), !dbg !43
  store i32 %r, ptr addrspace(1) @counter, align 4, !dbg !44
  %g = getelementptr [2 x i32], ptr addrspace(4) @table, i32 0, i32 %n, !dbg !44
  %w = load i32, ptr addrspace(4) %g, align 4, !dbg !44
  store i32 %w, ptr %p, align 4, !dbg !44
  ret void, !dbg !44
}

attributes #0 = { noinline nounwind }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!10, !11}
!llvm.ident = !{!12}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "counter@x", scope: !2, file: !3, line: 1, type: !5, isLocal: true, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, producer: "hand; define @x", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, globals: !6, imports: !47)
!3 = !DIFile(filename: "a b.cu", directory: "/tmp")
!5 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!6 = !{!0, !7, !45}
!7 = !DIGlobalVariableExpression(var: !8, expr: !DIExpression())
!8 = distinct !DIGlobalVariable(name: "table", scope: !2, file: !3, line: 2, type: !9, isLocal: false, isDefinition: true)
!9 = !DICompositeType(tag: DW_TAG_array_type, baseType: !5, size: 64, elements: !13)
!10 = !{i32 2, !"Dwarf Version", i32 2}
!11 = !{i32 2, !"Debug Info Version", i32 3}
!12 = !{!"hand"}
!13 = !{!14}
!14 = !DISubrange(count: 2)
!20 = distinct !DISubprogram(name: "helper", scope: !3, file: !3, line: 10, type: !21, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !2, templateParams: !27, retainedNodes: !22)
!21 = !DISubroutineType(types: !29)
!22 = !{!23, !26}
!23 = !DILocalVariable(name: "x", arg: 1, scope: !20, file: !3, line: 10, type: !5)
!24 = !DILocation(line: 11, column: 3, scope: !20)
!25 = !DILocation(line: 12, column: 3, scope: !20)
!26 = !DILocalVariable(name: "s", scope: !20, file: !3, line: 11, type: !5)
!27 = !{!28, !49, !50}
!28 = !DITemplateValueParameter(name: "F", type: !5, value: ptr addrspace(1) @unused)
!29 = !{!5, !5}
!30 = distinct !DISubprogram(name: "first", scope: !3, file: !3, line: 20, type: !21, scopeLine: 20, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !32)
!32 = !{!33}
!33 = !DILocalVariable(name: "p", arg: 1, scope: !30, file: !3, line: 20, type: !5)
!34 = !DILocation(line: 21, column: 3, scope: !30)
!35 = !DILocation(line: 22, column: 3, scope: !30)
!36 = !DILocation(line: 23, column: 3, scope: !38, inlinedAt: !35)
!37 = !DILocation(line: 24, column: 3, scope: !30)
!38 = distinct !DISubprogram(name: "inlined", scope: !3, file: !3, line: 50, type: !21, scopeLine: 50, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2)
!40 = distinct !DISubprogram(name: "second", scope: !3, file: !3, line: 30, type: !21, scopeLine: 30, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !41)
!41 = !{!42}
!42 = !DILocalVariable(name: "n", arg: 2, scope: !40, file: !3, line: 30, type: !5)
!43 = !DILocation(line: 31, column: 3, scope: !40)
!44 = !DILocation(line: 32, column: 3, scope: !40)
!45 = !DIGlobalVariableExpression(var: !46, expr: !DIExpression())
!46 = distinct !DIGlobalVariable(name: "unused", scope: !2, file: !3, line: 3, type: !5, isLocal: true, isDefinition: true)
!47 = !{!48}
!48 = !DIImportedEntity(tag: DW_TAG_imported_declaration, scope: !2, entity: !30, file: !3, line: 5)
!49 = !DITemplateValueParameter(name: "G", type: !5, value: ptr @helper)
!50 = !DITemplateTypeParameter(name: "T", type: !5)
