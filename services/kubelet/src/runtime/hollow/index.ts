export {
  createHollowRuntime,
  type HollowProcessFact,
  type HollowRuntime,
  type HollowRuntimeOptions,
} from './hollow-runtime.ts';
