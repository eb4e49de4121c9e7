import { type ContainerStatus as ApiContainerStatus, type Pod, type PodCondition, sidecarsOf } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import type { StatusContext } from './container-status.ts';

export interface StatusParts {
  readonly phase: string;
  readonly containers: readonly ApiContainerStatus[];
  readonly initContainers: readonly ApiContainerStatus[];
}

type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>;

const TRUE: Verdict = { status: 'True' };

/** The five conditions of the kubelet; every other one stays where and as it is. */
export function podConditions(context: StatusContext, parts: StatusParts): PodCondition[] {
  const old = context.pod.status.conditions ?? [];
  const verdicts: Readonly<Record<string, Verdict>> = {
    PodReadyToStartContainers: { status: context.sandboxes.at(-1)?.state === 'ready' ? 'True' : 'False' },
    Initialized: initialized(context, parts),
    Ready: ready(context, parts),
    ContainersReady: containersReady(context, parts),
    PodScheduled: TRUE,
  };
  const own = Object.entries(verdicts).map(([type, verdict]) => {
    const before = old.find((condition) => condition.type === type);
    const since = before?.status === verdict.status ? before.lastTransitionTime : undefined;
    return {
      lastProbeTime: null,
      lastTransitionTime: since ?? formatTime(context.now),
      ...(verdict.message === undefined ? {} : { message: verdict.message }),
      ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
      status: verdict.status,
      type,
    };
  });
  return [...own, ...old.filter((condition) => !(condition.type in verdicts))];
}

const namesOfSidecars = ({ spec }: Pod): ReadonlySet<string> => new Set(sidecarsOf(spec).map(({ name }) => name));

function initialized({ pod }: StatusContext, { phase, containers, initContainers }: StatusParts): Verdict {
  const appHasRun = containers.some(({ state, lastState }) =>
    [state.running, state.terminated, lastState.terminated].some((life) => life !== undefined),
  );
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  const sidecars = namesOfSidecars(pod);
  const incomplete = initContainers.filter(
    ({ name, ready: isReady, started }) => !(sidecars.has(name) ? started === true : isReady),
  );
  if (incomplete.length === 0 || appHasRun) return TRUE;
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${incomplete.map(({ name }) => name).join(' ')}]`,
  };
}

function containersReady({ pod }: StatusContext, { phase, containers, initContainers }: StatusParts): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const names = namesOfSidecars(pod);
  const sidecars = initContainers.filter(({ name }) => names.has(name));
  const unready = [...sidecars, ...containers].filter((status) => !status.ready);
  if (unready.length === 0) return TRUE;
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${unready.map(({ name }) => name).join(' ')}]`,
  };
}

function ready(context: StatusContext, parts: StatusParts): Verdict {
  const containers = containersReady(context, parts);
  if (containers.status !== 'True') return containers;
  const { conditions = [] } = context.pod.status;
  const unmet = (context.pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditions.find(({ type }) => type === conditionType);
    if (condition === undefined)
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    if (condition.status === 'True') return [];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`];
  });
  if (unmet.length === 0) return TRUE;
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: unmet.join(', ') };
}
