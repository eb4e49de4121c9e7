import { type PodSpec, privilegedErrors } from '@holdfast/api';
import { invalidObject } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { templateOf } from '../request-template.ts';
import { asPod } from '../typed-objects.ts';

/**
 * Refuses privileged containers where `--allow-privileged=false`. Kubernetes does this in the validation of the kind:
 * pods are checked when containers are added, templates at every write that validates the spec.
 */
export const createPrivilegedContainers = ({ allowPrivileged }: AdmissionDeps): AdmissionPlugin => ({
  name: 'PrivilegedContainers',
  handles: (request) => !allowPrivileged && checkedSpec(request) !== undefined,
  validate: (request) => {
    const checked = checkedSpec(request);
    const errors = checked === undefined ? [] : privilegedErrors(checked.spec, checked.path);
    if (errors.length === 0) return;
    const { definition } = request;
    const { name } = subjectOfRequest(request);
    throw invalidObject({ group: definition.group, kind: definition.kind, name }, errors);
  },
});

interface CheckedSpec {
  readonly spec: PodSpec;
  readonly path: string;
}

function checkedSpec(request: AdmissionRequest): CheckedSpec | undefined {
  if (request.object === undefined) return undefined;
  if (isCore(request, 'pods')) {
    return addsContainers(request) ? { spec: asPod(request.object).spec, path: 'spec' } : undefined;
  }
  const placed = ['', 'scale'].includes(request.subresource) ? templateOf(request) : undefined;
  const spec = placed?.template.spec;
  return placed === undefined || spec === undefined ? undefined : { spec, path: `${placed.path}.spec` };
}

const addsContainers = ({ operation, subresource }: AdmissionRequest): boolean =>
  (operation === 'CREATE' && subresource === '') || subresource === 'ephemeralcontainers';
