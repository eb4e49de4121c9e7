export { type Accusation, type Exploration, type ExploreOptions, explore, type Progress } from './explore.ts';
export type { Finding } from './judge.ts';
export { describePlan, type Plan, readPlan } from './plans.ts';
export { reportOf, summaryOf } from './report.ts';
export { describeStage, type Stage } from './stages.ts';
export { readWorkload, type Workload } from './workload.ts';
