import {
  DAEMON_SETS,
  DEPLOYMENTS,
  isTerminating,
  JOBS,
  type KubeObject,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api/facts';
import type { Target } from '../port.ts';
import { explainBudget, observeBudget } from './budget.ts';
import { explainClaim, observeClaim } from './claim.ts';
import { explainDaemonSet, observeDaemonSet } from './daemon-set.ts';
import { explainDeployment, observeDeployment } from './deployment.ts';
import { type Finding, ownersRemove } from './finding.ts';
import { explainJob, observeJob } from './job.ts';
import { explainNamespace, observeNamespace } from './namespace.ts';
import { explainNode, observeNode } from './node.ts';
import { explainPod } from './pod.ts';
import { observePod } from './pod-facts.ts';
import type { Known, Reader } from './reader.ts';
import { explainMissingPod, explainStatefulSet, identityOf, observeStatefulSet } from './stateful-set.ts';

/** Where an object is looked up. */
export interface Asked {
  readonly resource: ResourceRef<KubeObject>;
  readonly target: Target;
}

interface KindForm<T extends KubeObject, F> {
  readonly resource: ResourceRef<T>;
  observe(object: T, reader: Reader): Promise<F>;
  explain(facts: F, now: number): Finding;
}

interface ExplainedKind {
  readonly resource: ResourceRef<KubeObject>;
  /** Resolves with `absent` when there is no such object. */
  find(target: Target, reader: Reader, now: number): Promise<Known<Finding>>;
}

function defineKind<T extends KubeObject, F>(form: KindForm<T, F>): ExplainedKind {
  return {
    resource: form.resource,
    find: async (target, reader, now) => {
      const object = await reader.find(form.resource, target);
      return typeof object === 'string' ? object : form.explain(await form.observe(object, reader), now);
    },
  };
}

/** One line for each kind with an explanation of its own. */
const KINDS: readonly ExplainedKind[] = [
  defineKind({ resource: PODS, observe: observePod, explain: explainPod }),
  defineKind({ resource: PERSISTENT_VOLUME_CLAIMS, observe: observeClaim, explain: explainClaim }),
  defineKind({ resource: NAMESPACES, observe: observeNamespace, explain: explainNamespace }),
  defineKind({ resource: DEPLOYMENTS, observe: observeDeployment, explain: explainDeployment }),
  defineKind({ resource: STATEFUL_SETS, observe: observeStatefulSet, explain: explainStatefulSet }),
  defineKind({ resource: DAEMON_SETS, observe: observeDaemonSet, explain: explainDaemonSet }),
  defineKind({ resource: POD_DISRUPTION_BUDGETS, observe: observeBudget, explain: explainBudget }),
  defineKind({ resource: NODES, observe: observeNode, explain: explainNode }),
  defineKind({ resource: JOBS, observe: observeJob, explain: explainJob }),
];

/** Resolves with `absent` for an object that does not exist and that nothing is going to make. */
export async function explain({ resource, target }: Asked, reader: Reader, now: number): Promise<Known<Finding>> {
  const kind = KINDS.find((each) => each.resource.plural === resource.plural && each.resource.group === resource.group);
  const finding = await (kind ?? otherKind(resource)).find(target, reader, now);
  if (finding !== 'absent' || kind?.resource !== PODS) return finding;
  return explainAbsentPod(target, reader, now);
}

/** Any kind may be held by finalizers. */
const otherKind = (resource: ResourceRef<KubeObject>): ExplainedKind =>
  defineKind({
    resource,
    observe: (object) => Promise.resolve(object),
    explain: explainFinalizers,
  });

export function explainFinalizers(object: KubeObject): Finding {
  if (!isTerminating(object)) {
    return { rests: `it exists, and no explanation is known for waits of the kind ${object.kind}` };
  }
  const { finalizers = [], deletionTimestamp } = object.metadata;
  const list = finalizers.join(', ');
  const waitsFor = `it is to be deleted, and its finalizers hold it: ${list}`;
  return { waitsFor, endsWhen: ownersRemove(list), since: deletionTimestamp ?? undefined };
}

async function explainAbsentPod(
  { namespace = '', name }: Target,
  reader: Reader,
  now: number,
): Promise<Known<Finding>> {
  const identity = identityOf(name);
  if (identity === undefined) return 'absent';
  const set = await reader.find(STATEFUL_SETS, { namespace, name: identity.set });
  if (typeof set === 'string') return 'absent';
  return explainMissingPod(await observeStatefulSet(set, reader), identity.ordinal, now) ?? 'absent';
}
