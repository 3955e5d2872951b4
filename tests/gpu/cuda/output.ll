; ModuleID = 'output.cu'
source_filename = "output.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%printf_args = type { ptr, i32 }
%printf_args.0 = type { ptr, i32, i64, double, i32 }

@.str = private unnamed_addr constant [12 x i8] c"%s says %u\0A\00", align 1
@.str1 = private unnamed_addr constant [6 x i8] c"print\00", align 1
@.str2 = private unnamed_addr constant [11 x i8] c"print_more\00", align 1
@.str3 = private unnamed_addr constant [23 x i8] c"%s %d %lld %5.2f %c%%\0A\00", align 1
@.str4 = private unnamed_addr constant [8 x i8] c"several\00", align 1
@.str6 = private unnamed_addr constant [45 x i8] c"p[threadIdx.x] > 10 && \22numbers start at 11\22\00", align 1
@.str7 = private unnamed_addr constant [10 x i8] c"output.cu\00", align 1
@__PRETTY_FUNCTION__.check = private unnamed_addr constant [27 x i8] c"void check(unsigned int *)\00", align 1
@.str9 = private unnamed_addr constant [48 x i8] c"p[threadIdx.x] < 500 && \22all numbers are small\22\00", align 1
@__PRETTY_FUNCTION__.fail = private unnamed_addr constant [26 x i8] c"void fail(unsigned int *)\00", align 1

; Function Attrs: mustprogress noinline nounwind
define dso_local void @_Z3sayPKcj(ptr noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = alloca %printf_args, align 8
  store ptr %0, ptr %3, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 8
  store i32 %1, ptr %4, align 8
  %5 = call i32 @vprintf(ptr nonnull @.str, ptr nonnull %3) #5
  ret void
}

declare i32 @vprintf(ptr, ptr) local_unnamed_addr

; Function Attrs: mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @print(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = icmp samesign ult i32 %2, 3
  br i1 %3, label %4, label %8

4:                                                ; preds = %1
  %5 = zext nneg i32 %2 to i64
  %6 = getelementptr inbounds nuw i32, ptr %0, i64 %5
  %7 = load i32, ptr %6, align 4, !tbaa !4
  tail call void @_Z3sayPKcj(ptr noundef nonnull @.str1, i32 noundef %7) #5
  br label %8

8:                                                ; preds = %4, %1
  %9 = zext nneg i32 %2 to i64
  %10 = getelementptr inbounds nuw i32, ptr %0, i64 %9
  %11 = load i32, ptr %10, align 4, !tbaa !4
  %12 = add i32 %11, 1
  store i32 %12, ptr %10, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @print_more(ptr noundef captures(none) %0) local_unnamed_addr #1 {
  %2 = alloca %printf_args.0, align 8
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %4 = icmp eq i32 %3, 1
  br i1 %4, label %5, label %15

5:                                                ; preds = %1
  tail call void @_Z3sayPKcj(ptr noundef nonnull @.str2, i32 noundef 1) #5
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %7 = load i32, ptr %6, align 4, !tbaa !4
  %8 = uitofp i32 %7 to double
  %9 = fmul contract double %8, 1.250000e-01
  store ptr @.str4, ptr %2, align 8
  %10 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i32 -3, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i64 1099511627776, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store double %9, ptr %12, align 8
  %13 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store i32 120, ptr %13, align 8
  %14 = call i32 @vprintf(ptr nonnull @.str3, ptr nonnull %2) #5
  store i32 %14, ptr %0, align 4, !tbaa !4
  br label %15

15:                                               ; preds = %5, %1
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @check(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = icmp ugt i32 %5, 10
  br i1 %6, label %8, label %7

7:                                                ; preds = %1
  tail call void @__assertfail(ptr noundef nonnull @.str6, ptr noundef nonnull @.str7, i32 noundef 21, ptr noundef nonnull @__PRETTY_FUNCTION__.check, i64 noundef 1) #6
  br label %8

8:                                                ; preds = %1, %7
  %9 = load i32, ptr %4, align 4, !tbaa !4
  %10 = shl i32 %9, 1
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @fail(ptr noundef captures(none) %0) local_unnamed_addr #2 {
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %3 = zext nneg i32 %2 to i64
  %4 = getelementptr inbounds nuw i32, ptr %0, i64 %3
  %5 = load i32, ptr %4, align 4, !tbaa !4
  %6 = icmp ult i32 %5, 500
  br i1 %6, label %8, label %7

7:                                                ; preds = %1
  tail call void @__assertfail(ptr noundef nonnull @.str9, ptr noundef nonnull @.str7, i32 noundef 26, ptr noundef nonnull @__PRETTY_FUNCTION__.fail, i64 noundef 1) #6
  br label %8

8:                                                ; preds = %1, %7
  %9 = load i32, ptr %4, align 4, !tbaa !4
  %10 = mul i32 %9, 3
  store i32 %10, ptr %4, align 4, !tbaa !4
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

; Function Attrs: convergent nounwind
declare dso_local void @__assertfail(ptr noundef, ptr noundef, i32 noundef, ptr noundef, i64 noundef) local_unnamed_addr #4

attributes #0 = { mustprogress noinline nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #1 = { mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #2 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" "uniform-work-group-size"="true" }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
attributes #5 = { nounwind }
attributes #6 = { convergent nounwind }

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
