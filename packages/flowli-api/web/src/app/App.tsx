import { lazy, Suspense } from "react";
import { Navigate, Route, Routes, useParams } from "react-router";
import { ExecutionsPage } from "@/executions/ExecutionsPage";
import { Loading } from "@/parts/Loading";
import { QueuesPage } from "@/queues/QueuesPage";
import { ReviewsPage } from "@/reviews/ReviewsPage";
import { SchedulesPage } from "@/schedules/SchedulesPage";
import { StartPage } from "@/start/StartPage";
import { SystemPage } from "@/system/SystemPage";
import { WorkflowsPage } from "@/workflows/WorkflowsPage";
import { NotFound } from "./NotFound";
import { Shell } from "./Shell";

const ExecutionPage = lazy(() => import("@/execution/ExecutionPage"));

/** One page an execution: nothing of another one is ever shown in its place. */
function OneExecution() {
  const { eid = "" } = useParams();
  return <ExecutionPage key={eid} eid={eid} />;
}

export function App() {
  return (
    <Shell>
      <Suspense fallback={<Loading />}>
        <Routes>
          <Route path="/" element={<Navigate to="/executions" replace />} />
          <Route path="/executions" element={<ExecutionsPage />} />
          <Route path="/executions/:eid" element={<OneExecution />} />
          <Route path="/executions/:eid/:tab" element={<OneExecution />} />
          <Route path="/start" element={<StartPage />} />
          <Route path="/start/:workflow" element={<StartPage />} />
          <Route path="/reviews" element={<ReviewsPage />} />
          <Route path="/queues" element={<QueuesPage />} />
          <Route path="/schedules" element={<SchedulesPage />} />
          <Route path="/workflows" element={<WorkflowsPage />} />
          <Route path="/system" element={<SystemPage />} />
          <Route path="*" element={<NotFound />} />
        </Routes>
      </Suspense>
    </Shell>
  );
}
