; ModuleID = 'textures.cu'
source_filename = "textures.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: convergent mustprogress nofree noinline nounwind willreturn memory(none)
define dso_local noundef i32 @_Z7fetchedyi(i64 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = tail call { i32, i32, i32, i32 } asm "tex.1d.v4.u32.s32\09{$0, $1, $2, $3}, [$4, {$5}];", "=r,=r,=r,=r,l,r"(i64 %0, i32 %1) #4, !srcloc !8
  %4 = extractvalue { i32, i32, i32, i32 } %3, 0
  ret i32 %4
}

; Function Attrs: convergent mustprogress nofree noinline norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @fetch(ptr noundef captures(none) %0, i64 noundef %1) local_unnamed_addr #1 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw i32, ptr %0, i64 %4
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 128
  %7 = load i32, ptr %6, align 4, !tbaa !4
  %8 = sub nsw i32 31, %3
  %9 = tail call noundef i32 @_Z7fetchedyi(i64 noundef %1, i32 noundef %8) #5
  %10 = add i32 %9, %7
  %11 = zext nneg i32 %3 to i64
  %12 = getelementptr inbounds nuw i32, ptr %0, i64 %11
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 256
  store i32 %10, ptr %13, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress nofree noinline norecurse nounwind willreturn memory(argmem: write)
define dso_local ptx_kernel void @fetch_twice(ptr noundef writeonly captures(none) %0, i64 noundef %1) local_unnamed_addr #2 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = tail call noundef i32 @_Z7fetchedyi(i64 noundef %1, i32 noundef %3) #5
  %5 = mul i32 %4, 3
  %6 = xor i32 %3, 4
  %7 = tail call noundef i32 @_Z7fetchedyi(i64 noundef %1, i32 noundef %6) #5
  %8 = add i32 %5, %7
  %9 = zext nneg i32 %3 to i64
  %10 = getelementptr inbounds nuw i32, ptr %0, i64 %9
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 256
  store i32 %8, ptr %11, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

attributes #0 = { convergent mustprogress nofree noinline nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { convergent mustprogress nofree noinline norecurse nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { convergent mustprogress nofree noinline norecurse nounwind willreturn memory(argmem: write) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nounwind memory(none) }
attributes #5 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}
!llvm.errno.tbaa = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{i32 7, !"frame-pointer", i32 2}
!3 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C++ TBAA"}
!8 = !{i64 2152954768}
