import { NOT_READY_TAINT } from '@holdfast/api';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';
import { asNode } from '../typed-objects.ts';

const NOT_READY = { key: NOT_READY_TAINT, effect: 'NoSchedule' };

/** A new node has not reported readiness yet: no pod is scheduled to it before. */
export const createTaintNodesByCondition = (_deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'TaintNodesByCondition',
  handles: (request) => isCore(request, 'nodes') && request.operation === 'CREATE' && request.subresource === '',
  admit: ({ object }) => {
    if (object === undefined) return;
    const { spec } = asNode(object);
    const taints = spec.taints ?? [];
    if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return;
    spec.taints = [...taints, { ...NOT_READY }];
  },
});
