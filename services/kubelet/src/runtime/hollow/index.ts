export {
  createHollowRuntime,
  type HollowProcessFact,
  type HollowRuntime,
  type HollowRuntimeOptions,
  type HollowState,
} from './hollow-runtime.ts';
export { POD_SCRIPT_FORMS, readPodScript } from './pod-script.ts';
