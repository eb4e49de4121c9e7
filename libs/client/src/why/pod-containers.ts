import {
  type ContainerState,
  type ContainerStatus,
  type Event,
  type Pod,
  podCondition,
  sidecarsOf,
} from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import { type Finding, lengthOf, plusMs, quoted, type Wait } from './finding.ts';
import type { PodFacts } from './pod-facts.ts';

/** A pod that has a node and is not ready: the first container that holds it up. */
export function explainContainers(facts: PodFacts, now: number): Finding {
  const { pod } = facts;
  const since = podCondition(pod, 'Ready')?.lastTransitionTime ?? pod.status.startTime ?? undefined;
  const init = (pod.status.initContainerStatuses ?? []).find((status) => !isInitDone(pod, status));
  if (init !== undefined)
    return { since, ...explainContainer({ ...facts, status: init, role: 'init container' }, now) };
  const statuses = pod.status.containerStatuses ?? [];
  const blocked = statuses.find(({ state }) => state.running === undefined) ?? statuses.find(({ ready }) => !ready);
  if (blocked !== undefined)
    return { since, ...explainContainer({ ...facts, status: blocked, role: 'container' }, now) };
  const node = pod.spec.nodeName ?? '';
  if (statuses.length === 0) {
    return {
      waitsFor: `the kubelet of node ${node} has not started it yet`,
      endsWhen: `the kubelet of node ${node} reports it`,
      since,
    };
  }
  const message = podCondition(pod, 'Ready')?.message;
  return {
    waitsFor: `its containers are ready, but the pod is not: ${quoted(message ?? 'a readiness gate is not met')}`,
    endsWhen: 'the programs that own its readiness gates set their conditions to True',
    since,
  };
}

interface ContainerFacts extends PodFacts {
  readonly status: ContainerStatus;
  readonly role: 'container' | 'init container';
}

const isInitDone = ({ spec }: Pod, { name, state, started }: ContainerStatus): boolean =>
  state.terminated?.exitCode === 0 || (started === true && sidecarsOf(spec).some((sidecar) => sidecar.name === name));

function explainContainer(facts: ContainerFacts, now: number): Wait {
  const { state } = facts.status;
  if (state.waiting !== undefined) return explainWaiting(facts, now);
  if (state.terminated !== undefined) return ended(facts, state.terminated);
  return facts.role === 'init container' ? initRuns(facts) : notReady(facts);
}

function initRuns({ status: { name, state } }: ContainerFacts): Wait {
  const since = state.running?.startedAt;
  return {
    waitsFor: `init container ${name} has not completed`,
    endsWhen: 'it ends with exit code 0; the next container starts then',
    ...(since === undefined ? {} : { since }),
  };
}

function notReady({ pod, status: { name, started }, events }: ContainerFacts): Wait {
  const probe = pod.spec.containers.find((container) => container.name === name);
  const kind = started !== true && probe?.startupProbe !== undefined ? 'startup' : 'readiness';
  const failure = events.find(({ reason }) => reason === 'Unhealthy')?.message;
  const said = failure === undefined ? '' : ` (${quoted(failure)})`;
  return {
    waitsFor: `container ${name} runs, but its ${kind} probe has not succeeded${said}`,
    endsWhen: `the ${kind} probe succeeds`,
  };
}

function ended({ pod, role, status: { name } }: ContainerFacts, end: NonNullable<ContainerState['terminated']>): Wait {
  const what = `${role} ${name} ended ${endText(end)}`;
  return pod.spec.restartPolicy === 'Never'
    ? { waitsFor: `${what}, and its restart policy is Never`, endsWhen: 'the other containers have ended, too' }
    : { waitsFor: `${what}, and is restarted`, endsWhen: 'it runs again' };
}

export const endText = ({ exitCode, reason, signal, message }: NonNullable<ContainerState['terminated']>): string => {
  const by = signal === undefined || signal === 0 ? '' : `, signal ${signal}`;
  const last = message === undefined || message === '' ? '' : `; its last words: "${quoted(message)}"`;
  return `with exit code ${exitCode} (${reason ?? 'Error'}${by})${last}`;
};

function explainWaiting(facts: ContainerFacts, now: number): Wait {
  const { role, status } = facts;
  const { reason = '', message } = status.state.waiting ?? {};
  const what = `${role} ${status.name}`;
  if (reason === 'CrashLoopBackOff') return crashLoop(facts, now);
  if (IMAGE_REASONS.has(reason)) {
    const why = quoted(message ?? facts.events.find((event) => event.reason === 'Failed')?.message ?? reason);
    const endsWhen =
      'the image can be pulled (the kubelet retries with back-off), or the image of the pod is corrected';
    return { waitsFor: `${what} waits for its image ${quoted(status.image)}: ${why}`, endsWhen };
  }
  if (reason === 'CreateContainerConfigError') {
    const endsWhen = 'what it names exists: create the ConfigMap, Secret or key, and the kubelet starts the container';
    return { waitsFor: `${what} cannot be configured: ${quoted(message)}`, endsWhen };
  }
  if (reason === 'ContainerCreating' || reason === 'PodInitializing') return creating(facts);
  const text = message === undefined ? '' : `: ${quoted(message)}`;
  return {
    waitsFor: `${what} does not start, ${reason}${text}`,
    endsWhen: 'the kubelet starts it; it tries again and again',
  };
}

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
]);

/** `back-off 1m20s restarting failed container=...` */
const BACK_OFF = /back-off (?:(\d+)m)?(\d+)s/;

function crashLoop({ pod, role, status }: ContainerFacts, now: number): Wait {
  const { name, restartCount, lastState } = status;
  const end = lastState.terminated;
  const what = `${role} ${name} ends again and again (${restartCount} restarts)`;
  const last = end === undefined ? '' : `, last ${endText(end)}${memoryHint(end.reason)}`;
  const next = nextRestart(status);
  const left = (parseTime(next ?? '') ?? now) - now;
  const when = next === undefined || left <= 0 ? 'soon' : `in ${lengthOf(left)}, at ${next}`;
  const logs = `kubectl logs ${pod.metadata.name} -n ${pod.metadata.namespace} -c ${name} --previous`;
  return {
    waitsFor: `${what}${last}; its next restart is ${when}`,
    endsWhen: `it runs after a restart; \`${logs}\` shows its last lines`,
    since: end?.finishedAt,
  };
}

const memoryHint = (reason: string | undefined): string =>
  reason === 'OOMKilled' ? ', it needed more memory than its limit' : '';

function nextRestart({ state, lastState }: ContainerStatus): string | undefined {
  const [, minutes = '0', seconds] = BACK_OFF.exec(state.waiting?.message ?? '') ?? [];
  if (seconds === undefined) return undefined;
  return plusMs(lastState.terminated?.finishedAt, (Number(minutes) * 60 + Number(seconds)) * 1000);
}

/** Volumes, attachments, the sandbox and the promise of the node hold up a start without a reason of their own. */
function creating({ pod, role, status, events }: ContainerFacts): Wait {
  const node = pod.spec.nodeName ?? '';
  const message = status.state.waiting?.message;
  const event = events.find(({ reason = '' }) => VOLUME_EVENTS.has(reason));
  const why = message ?? event?.message;
  if (why === undefined) {
    return {
      waitsFor: `node ${node} is starting ${role} ${status.name}`,
      endsWhen: 'its volumes and image are there and it runs',
    };
  }
  return {
    waitsFor: `${role} ${status.name} cannot start on node ${node}: ${quoted(why)}`,
    endsWhen: endOfStart(event, why),
  };
}

const VOLUME_EVENTS: ReadonlySet<string> = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);

function endOfStart(event: Event | undefined, why: string): string {
  if (event?.reason === 'FailedAttachVolume' || why.includes('attach')) {
    return 'the pods that use the volume have ended and their node has confirmed it, or an administrator breaks the attachment (`holdfast detach volume`)';
  }
  const missing = /(configmap|secret|persistentvolumeclaim)s? "([^"]*)" not found/i.exec(why);
  return missing === null
    ? 'the cause is gone; the kubelet tries again'
    : `${missing[1]?.toLowerCase()} ${missing[2]} is made`;
}
