export {
  createHollowRuntime,
  type HollowProcessFact,
  type HollowRuntime,
  type HollowRuntimeOptions,
  type HollowState,
} from './hollow-runtime.ts';
