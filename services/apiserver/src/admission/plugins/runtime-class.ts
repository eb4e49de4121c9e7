import { type Pod, RUNTIME_CLASSES, type RuntimeClass } from '@holdfast/api';
import { deepEqual, forbiddenError, type StatusError } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { mergeTolerations } from '../tolerations.ts';
import { asPod } from '../typed-objects.ts';

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const UNFOUNDED = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

/** A pod that names a runtime gets what the runtime needs besides, and goes where the runtime is. */
export const createRuntimeClass = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'RuntimeClass',
  handles: (request) => isCore(request, 'pods') && request.operation === 'CREATE' && request.subresource === '',
  admit: (request) => withRuntime(deps, request, prepareFor),
  validate: (request) => withRuntime(deps, request, checkOverhead),
});

type Step = (request: AdmissionRequest, pod: Pod, runtime: RuntimeClass | undefined) => void;

/** Synchronous for pods without a runtime class, or with a cached one. */
function withRuntime({ reader }: AdmissionDeps, request: AdmissionRequest, step: Step): Promise<void> | undefined {
  if (request.object === undefined) return undefined;
  const pod = asPod(request.object);
  const name = pod.spec.runtimeClassName;
  const known = name === undefined ? undefined : reader.cached(RUNTIME_CLASSES, { name });
  if (name !== undefined && known === undefined) {
    return reader.fresh(RUNTIME_CLASSES, { name }).then((found) => {
      if (found === undefined) throw refuse(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
      step(request, pod, found);
    });
  }
  step(request, pod, known);
  return undefined;
}

const prepareFor: Step = (request, pod, runtime) => {
  if (runtime === undefined) return;
  setOverhead(request, pod, runtime);
  setScheduling(request, pod, runtime);
};

const checkOverhead: Step = (request, pod, runtime) => {
  const fixed = runtime?.overhead?.podFixed;
  const own = pod.spec.overhead ?? {};
  if (fixed === undefined && Object.keys(own).length > 0) throw refuse(request, UNFOUNDED);
  if (fixed !== undefined && !deepEqual(own, fixed)) throw refuse(request, MISMATCH);
};

function setOverhead(request: AdmissionRequest, { spec }: Pod, { overhead }: RuntimeClass): void {
  if (overhead === undefined) return;
  const fixed = overhead.podFixed ?? {};
  const own = spec.overhead ?? {};
  if (Object.keys(own).length > 0 && !deepEqual(own, fixed)) throw refuse(request, MISMATCH);
  spec.overhead = { ...fixed };
}

function setScheduling(request: AdmissionRequest, { spec }: Pod, { scheduling }: RuntimeClass): void {
  if (scheduling === undefined) return;
  const wanted = scheduling.nodeSelector ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (wanted[key] === undefined || wanted[key] === value) continue;
    throw refuse(
      request,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${wanted[key]}; pod.spec.nodeSelector[${key}] = ${value}`,
    );
  }
  if (Object.keys(wanted).length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...wanted };
  const tolerations = mergeTolerations([...(spec.tolerations ?? []), ...(scheduling.tolerations ?? [])]);
  if (tolerations.length > 0) spec.tolerations = [...tolerations];
}

const refuse = (request: AdmissionRequest, why: string): StatusError => forbiddenError(subjectOfRequest(request), why);
