; ModuleID = 'tables.cu'
source_filename = "tables.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@primes = dso_local addrspace(4) externally_initialized constant [8 x i32] [i32 2, i32 3, i32 5, i32 7, i32 11, i32 13, i32 17, i32 19], align 4
@factors = dso_local addrspace(4) externally_initialized constant [4 x float] [float 5.000000e-01, float 1.500000e+00, float 2.500000e+00, float 3.500000e+00], align 4
@set_by_host = dso_local addrspace(4) externally_initialized constant [4 x i32] zeroinitializer, align 4
@_ZL7squares = internal unnamed_addr addrspace(4) constant [16 x i32] [i32 0, i32 1, i32 4, i32 9, i32 16, i32 25, i32 36, i32 49, i32 64, i32 81, i32 100, i32 121, i32 144, i32 169, i32 196, i32 225], align 4
@.str = private unnamed_addr constant [44 x i8] c"the quick brown fox jumps over the lazy dog\00", align 1
@.str1 = private unnamed_addr constant [9 x i8] c"abcdefgh\00", align 1
@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(4) @factors to ptr), ptr addrspacecast (ptr addrspace(4) @primes to ptr), ptr addrspacecast (ptr addrspace(4) @set_by_host to ptr)], section "llvm.metadata"

; Function Attrs: convergent mustprogress noinline nounwind
define dso_local noundef i32 @_Z6chosenjj(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  switch i32 %0, label %30 [
    i32 0, label %3
    i32 1, label %6
    i32 2, label %8
    i32 3, label %10
    i32 4, label %13
    i32 5, label %15
    i32 6, label %17
    i32 7, label %19
    i32 8, label %24
  ]

3:                                                ; preds = %2
  %4 = mul i32 %1, %1
  %5 = add nuw nsw i32 %4, 1
  br label %32

6:                                                ; preds = %2
  %7 = udiv i32 %1, 3
  br label %32

8:                                                ; preds = %2
  %9 = xor i32 %1, 85
  br label %32

10:                                               ; preds = %2
  %11 = tail call noundef i32 @__nv_popc(i32 noundef %1) #7
  %12 = mul nsw i32 %11, 7
  br label %32

13:                                               ; preds = %2
  %14 = shl i32 %1, 5
  br label %32

15:                                               ; preds = %2
  %16 = tail call noundef i32 @__nv_brev(i32 noundef %1) #7
  br label %32

17:                                               ; preds = %2
  %18 = urem i32 %1, 11
  br label %32

19:                                               ; preds = %2
  %20 = and i32 %1, 15
  %21 = zext nneg i32 %20 to i64
  %22 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @_ZL7squares to ptr), i64 %21
  %23 = load i32, ptr %22, align 4, !tbaa !4
  br label %32

24:                                               ; preds = %2
  %25 = and i32 %1, 7
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @primes to ptr), i64 %26
  %28 = load i32, ptr %27, align 4, !tbaa !4
  %29 = sub i32 %28, %1
  br label %32

30:                                               ; preds = %2
  %31 = add i32 %1, %0
  br label %32

32:                                               ; preds = %30, %24, %19, %17, %15, %13, %10, %8, %6, %3
  %33 = phi i32 [ %31, %30 ], [ %5, %3 ], [ %7, %6 ], [ %9, %8 ], [ %12, %10 ], [ %14, %13 ], [ %16, %15 ], [ %18, %17 ], [ %23, %19 ], [ %29, %24 ]
  ret i32 %33
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none)
define dso_local noundef range(i32 -128, 128) i32 @_Z6letterj(i32 noundef %0) local_unnamed_addr #1 {
  %2 = urem i32 %0, 43
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i8, ptr @.str, i64 %3
  %5 = load i8, ptr %4, align 1, !tbaa !8
  %6 = sext i8 %5 to i32
  ret i32 %6
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @look_up(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 7
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @primes to ptr), i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = mul i32 %9, 3
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @look_up_too(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 3
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(4) @factors to ptr), i64 %7
  %9 = load float, ptr %8, align 4, !tbaa !9
  %10 = fmul contract float %9, 1.000000e+01
  %11 = fptoui float %10 to i32
  %12 = and i32 %2, 7
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @primes to ptr), i64 %13
  %15 = load i32, ptr %14, align 4, !tbaa !4
  %16 = add i32 %15, %11
  store i32 %16, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @look_up_squares(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = and i32 %5, 15
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @_ZL7squares to ptr), i64 %7
  %9 = load i32, ptr %8, align 4, !tbaa !4
  %10 = add i32 %9, 1
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write)
define dso_local ptx_kernel void @look_up_what_the_host_set(ptr noundef writeonly captures(none) %0) local_unnamed_addr #3 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = and i32 %2, 3
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @set_by_host to ptr), i64 %4
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = and i32 %2, 15
  %8 = zext nneg i32 %7 to i64
  %9 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(4) @_ZL7squares to ptr), i64 %8
  %10 = load i32, ptr %9, align 4, !tbaa !4
  %11 = add i32 %10, %6
  %12 = zext nneg i32 %2 to i64
  %13 = getelementptr inbounds nuw i32, ptr %0, i64 %12
  store i32 %11, ptr %13, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @choose(ptr noundef captures(none) %0) local_unnamed_addr #4 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = urem i32 %2, 11
  %4 = zext nneg i32 %2 to i64
  %5 = getelementptr inbounds nuw i32, ptr %0, i64 %4
  %6 = load i32, ptr %5, align 4, !tbaa !4
  %7 = tail call noundef i32 @_Z6chosenjj(i32 noundef %3, i32 noundef %6) #7
  store i32 %7, ptr %5, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @choose_twice(ptr noundef captures(none) %0) local_unnamed_addr #4 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = urem i32 %5, 10
  %7 = tail call noundef i32 @_Z6chosenjj(i32 noundef %6, i32 noundef %2) #7
  %8 = urem i32 %2, 3
  %9 = tail call noundef i32 @_Z6chosenjj(i32 noundef %8, i32 noundef 5) #7
  %10 = add i32 %9, %7
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @spell(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = tail call noundef i32 @_Z6letterj(i32 noundef %5) #8
  store i32 %6, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @spell_too(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = tail call noundef i32 @_Z6letterj(i32 noundef %2) #8
  %4 = shl nsw i32 %3, 8
  %5 = zext nneg i32 %2 to i64
  %6 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  %7 = load i32, ptr %6, align 4, !tbaa !4
  %8 = and i32 %7, 7
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw i8, ptr @.str1, i64 %9
  %11 = load i8, ptr %10, align 1, !tbaa !8
  %12 = sext i8 %11 to i32
  %13 = or i32 %4, %12
  store i32 %13, ptr %6, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_popc(i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare dso_local i32 @__nv_brev(i32 noundef) local_unnamed_addr #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #6

attributes #0 = { convergent mustprogress noinline nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #2 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #4 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #5 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #6 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { convergent nounwind }
attributes #8 = { nounwind }

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
!8 = !{!6, !6, i64 0}
!9 = !{!10, !10, i64 0}
!10 = !{!"float", !6, i64 0}
