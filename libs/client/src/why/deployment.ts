import { DEPLOYMENT_REVISION_ANNOTATION, type Deployment, REPLICA_SETS } from '@holdfast/api/facts';
import { type Finding, isWait } from './finding.ts';
import type { Reader } from './reader.ts';
import {
  blockerOf,
  explainBlocker,
  explainRefusal,
  isUnsettled,
  ownedBy,
  ownedPods,
  refusalEvent,
  unseenChange,
  type WorkloadFacts,
} from './workload.ts';

export interface DeploymentFacts extends WorkloadFacts {
  readonly deployment: Deployment;
}

export async function observeDeployment(deployment: Deployment, reader: Reader): Promise<DeploymentFacts> {
  const sets = (await reader.list(REPLICA_SETS, deployment.metadata.namespace)).filter(ownedBy(deployment));
  const revisionOf = (set: (typeof sets)[number]): number =>
    Number(set.metadata.annotations?.[DEPLOYMENT_REVISION_ANNOTATION] ?? 0);
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  if (newest === undefined)
    return { deployment, pods: [], blocker: undefined, events: await reader.events(deployment) };
  const [pods, events] = await Promise.all([ownedPods(newest, reader), reader.events(newest)]);
  return { deployment, pods, events, blocker: await blockerOf(pods.find(isUnsettled), reader) };
}

export function explainDeployment(facts: DeploymentFacts, now: number): Finding {
  const { deployment } = facts;
  const { spec, status } = deployment;
  const { replicas = 1 } = spec;
  const { updatedReplicas = 0, availableReplicas = 0, replicas: all = 0 } = status;
  const unseen = unseenChange(deployment, status.observedGeneration);
  if (unseen !== undefined) return unseen;
  if (updatedReplicas >= replicas && availableReplicas >= replicas && all <= updatedReplicas) {
    return { rests: `its ${replicas} replicas are up to date and available` };
  }
  const progressing = condition(deployment, 'Progressing');
  if (spec.paused === true && updatedReplicas < replicas) return paused(deployment);
  const refused = condition(deployment, 'ReplicaFailure');
  const found =
    (refused?.status === 'True'
      ? explainRefusal(refused.message, refused.lastTransitionTime ?? undefined)
      : undefined) ??
    explainBlocker(facts.blocker, 'its new pod', now) ??
    (facts.pods.length < replicas ? explainRefusal(refusalEvent(facts.events)) : undefined) ??
    replacing(deployment);
  const isLate = progressing?.reason === 'ProgressDeadlineExceeded';
  const late = isLate ? 'its rollout made no progress before its deadline; ' : '';
  return isWait(found) ? { ...found, waitsFor: `${late}${found.waitsFor}` } : found;
}

const condition = ({ status }: Deployment, type: string) => status.conditions?.find((each) => each.type === type);

const paused = ({ metadata, status, spec }: Deployment): Finding => ({
  waitsFor: `its rollout is paused: ${status.updatedReplicas ?? 0} of ${spec.replicas ?? 1} replicas are up to date`,
  endsWhen: `somebody resumes it (\`kubectl rollout resume deployment/${metadata.name} -n ${metadata.namespace}\`)`,
});

const replacing = ({ spec, status }: Deployment): Finding => ({
  waitsFor: `${status.updatedReplicas ?? 0} of ${spec.replicas ?? 1} replicas are up to date, ${status.availableReplicas ?? 0} are available, and ${status.replicas ?? 0} pods exist`,
  endsWhen: 'the new pods are available (after minReadySeconds) and the old ones have been replaced',
});
