target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
define ptx_kernel void @k25_triton_poi_fused_div_expand_scatter_zero(ptr addrspace(1) %0, i32 %1, ptr addrspace(1) readnone captures(none) %2, ptr addrspace(1) readnone captures(none) %3) local_unnamed_addr #7 !dbg !1579 {
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !1580
  %6 = shl i32 %5, 10, !dbg !1581
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !1582
  %8 = shl nuw nsw i32 %7, 2, !dbg !1582
  %9 = and i32 %8, 508, !dbg !1582
  %10 = or disjoint i32 %9, %6, !dbg !1583
  %11 = sext i32 %10 to i64, !dbg !1584
  %12 = getelementptr float, ptr addrspace(1) %0, i64 %11, !dbg !1584
  %13 = getelementptr i8, ptr addrspace(1) %12, i64 2048, !dbg !1584
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %12) #16, !dbg !1585
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %13) #16, !dbg !1585
  ret void, !dbg !1586
}
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #16 = { nounwind }
attributes #7 = { nounwind "nvvm.reqntid"="128" }
!llvm.dbg.cu = !{!49}
!llvm.module.flags = !{!683, !684}
!llvm.ident = !{!685}
!49 = distinct !DICompileUnit(language: DW_LANG_C, file: !50, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!50 = !DIFile(filename: "cqikabzqx4rizrmtgecaga7cd3mlugmmaa5uwvjtpakmc2mckd5g.py", directory: "/src/b/ind/qi")
!683 = !{i32 2, !"Debug Info Version", i32 3}
!684 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!685 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!687 = !DISubroutineType(cc: DW_CC_normal, types: !688)
!688 = !{}
!1579 = distinct !DISubprogram(name: "triton_poi_fused_div_expand_scatter_zeros_0", linkageName: "triton_poi_fused_div_expand_scatter_zeros_0", scope: !50, file: !50, line: 18, type: !687, scopeLine: 18, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !49)
!1580 = !DILocation(line: 20, column: 28, scope: !1579)
!1581 = !DILocation(line: 20, column: 33, scope: !1579)
!1582 = !DILocation(line: 21, column: 36, scope: !1579)
!1583 = !DILocation(line: 21, column: 23, scope: !1579)
!1584 = !DILocation(line: 25, column: 25, scope: !1579)
!1585 = !DILocation(line: 25, column: 36, scope: !1579)
!1586 = !DILocation(line: 25, column: 4, scope: !1579)
