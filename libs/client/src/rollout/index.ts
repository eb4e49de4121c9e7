export type { Progress } from './progress.ts';
export { hasRollout, type Rollout, readRollout } from './read.ts';
export type { RolloutPod, RolloutPodState, RolloutRevision } from './rollout.ts';
