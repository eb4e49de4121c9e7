import type { PersistentVolumeClaim } from '@holdfast/api';
import { VolumeBinder } from '../adapters/volume-binder.ts';
import { claimsOf, type PodClaims, planVolumes, type VolumeConflict } from '../domain/volume-plan.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { type Cycle, type Plugin, type PreFiltered, rejectedForGood, SKIP } from '../framework/plugin.ts';
import { decodeVolumeBindingArgs } from './args/small-args.ts';

/** Bound volumes restrict the pod to their nodes. Unbound ones that wait for the pod are bound before it. */
export const VOLUME_BINDING: PluginDefinition = {
  name: 'VolumeBinding',
  points: ['preFilter', 'filter', 'reserve', 'preBind'],
  configure: (raw) => {
    const { bindTimeoutMs } = decodeVolumeBindingArgs(raw);
    return (handle) => createVolumeBinding(new VolumeBinder({ ...handle, timeoutMs: bindTimeoutMs }));
  },
};

const REASONS: Readonly<Record<VolumeConflict, string>> = {
  'node conflict': 'node(s) had volume node affinity conflict',
  'volume missing': 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
  'nothing to bind': "node(s) didn't find available persistent volumes to bind",
  'no space': 'node(s) did not have enough free storage',
};
const UNBOUND = 'pod has unbound immediate PersistentVolumeClaims';

function createVolumeBinding(binder: VolumeBinder): Plugin {
  return {
    preFilter,
    reserve: ({ pod, snapshot }, node) => {
      const claims = pod.claims.length === 0 ? undefined : claimsOf(pod, snapshot.volumes);
      if (claims === undefined) return undefined;
      if (typeof claims === 'string') return claims;
      const plan = planVolumes(claims, node, snapshot.volumes);
      if (!('bindings' in plan)) return plan.map((conflict) => REASONS[conflict]).join(', ');
      binder.reserve(pod, node.name, plan);
      return undefined;
    },
    unreserve: (pod) => binder.unreserve(pod),
    preBind: ({ pod, signal }) => binder.bind(pod, signal),
    wakesOn: {
      'claim-changed': (pod, claim) => pod.claims.some(({ key }) => key === keyOf(claim)),
      'volume-changed': true,
      'class-changed': true,
      'csi-changed': true,
      'node-added': true,
      'node-labels': true,
    },
  };
}

const keyOf = ({ metadata: { namespace = '', name = '' } }: PersistentVolumeClaim): string => `${namespace}/${name}`;

function preFilter({ pod, snapshot: { volumes } }: Cycle): PreFiltered {
  if (pod.claims.length === 0) return SKIP;
  const claims = claimsOf(pod, volumes);
  if (typeof claims === 'string') return { kind: 'reject', rejection: rejectedForGood(claims) };
  if (claims.immediate.length > 0) return { kind: 'reject', rejection: rejectedForGood(UNBOUND) };
  return checkOf(claims, volumes);
}

function checkOf(claims: PodClaims, volumes: Cycle['snapshot']['volumes']): PreFiltered {
  return {
    kind: 'check',
    check: (node) => {
      const plan = planVolumes(claims, node, volumes);
      return 'bindings' in plan ? undefined : rejectedForGood(...plan.map((conflict) => REASONS[conflict]));
    },
  };
}
