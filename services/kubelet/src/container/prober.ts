import { type Container, isTerminating, type Pod, type Probe } from '@holdfast/api';
import { describeError, type Timer } from '@holdfast/platform';
import { expandByStaticValues } from '../domain/environment.ts';
import type { ProbeResults } from '../domain/pod-worker-types.ts';
import { countProbe, NO_PROBE_YET, type ProbeCount, type ProbeKind } from '../domain/probe-count.ts';
import { PROBE_ATTEMPTS_MAX } from '../limits.ts';
import { type ContainerStatus, RuntimeError, type SandboxStatus } from '../runtime/port.ts';
import type { ProbeMetrics, ProbeObservation } from '../stats/probe-metrics.ts';
import { CheckError, type HandlerDeps, type HandlerTarget, portNumber, runExec, runGrpc, runHttpGet } from './hooks.ts';

export interface Prober {
  /** Starts and ends probing as containers come and go; answers the present results by container id. */
  observe(pod: Pod | undefined, sandboxes: readonly SandboxStatus[]): Readonly<Record<string, ProbeResults>>;
  stop(): void;
}

export interface ProberDeps extends HandlerDeps {
  /** Absent: no metrics. */
  readonly probeMetrics?: ProbeMetrics | undefined;
  /** A result that counts has changed. */
  readonly onResult: () => void;
  readonly onFailure: (pod: Pod, container: string, message: string) => void;
  /** It counts as a success. */
  readonly onWarning: (pod: Pod, container: string, message: string) => void;
}

const KINDS = ['startup', 'readiness', 'liveness'] as const;

export function createProber(deps: ProberDeps): Prober {
  return new ContainerProber(deps);
}

class ContainerProber implements Prober {
  readonly #deps: ProberDeps;
  /** By container id and kind. */
  readonly #loops = new Map<string, Map<ProbeKind, ProbeLoop>>();

  constructor(deps: ProberDeps) {
    this.#deps = deps;
  }

  observe(pod: Pod | undefined, sandboxes: readonly SandboxStatus[]): Readonly<Record<string, ProbeResults>> {
    const seen = new Set<string>();
    if (pod !== undefined) {
      const specs = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
      for (const sandbox of sandboxes) {
        for (const container of sandbox.containers) {
          const spec = specs.find(({ name }) => name === container.config.name);
          if (container.state !== 'running' || spec === undefined) continue;
          seen.add(container.id);
          this.#observeContainer(pod, spec, { container, podIp: sandbox.ip });
        }
      }
    }
    for (const [id, loops] of this.#loops) {
      if (seen.has(id)) continue;
      for (const loop of loops.values()) loop.stop();
      this.#loops.delete(id);
    }
    return this.#results();
  }

  stop(): void {
    for (const loops of this.#loops.values()) for (const loop of loops.values()) loop.stop();
    this.#loops.clear();
  }

  /** The other probes wait until the startup probe succeeds; while the pod terminates only readiness continues. */
  #observeContainer(
    pod: Pod,
    spec: Container,
    at: { readonly container: ContainerStatus; readonly podIp: string },
  ): void {
    const { id } = at.container;
    const loops = this.#loops.get(id) ?? new Map<ProbeKind, ProbeLoop>();
    this.#loops.set(id, loops);
    const ending = isTerminating(pod);
    const started = spec.startupProbe === undefined || loops.get('startup')?.verdict() === 'success';
    for (const kind of KINDS) {
      const probe = spec[`${kind}Probe`];
      const wanted = probe !== undefined && (kind === 'startup' || started) && !(ending && kind !== 'readiness');
      loops.get(kind)?.moveTo(at.podIp);
      if (!wanted) loops.get(kind)?.stop();
      else if (!loops.has(kind)) loops.set(kind, new ProbeLoop(this.#deps, kind, { pod, spec, probe, ...at }));
    }
  }

  #results(): Record<string, ProbeResults> {
    const results = [...this.#loops].map(([id, loops]): [string, ProbeResults] => {
      const entries = [...loops].flatMap(([kind, loop]) => {
        const verdict = loop.verdict();
        return verdict === undefined ? [] : [[kind, verdict] as const];
      });
      return [id, Object.fromEntries(entries)];
    });
    return Object.fromEntries(results);
  }
}

interface ProbeSubject {
  readonly pod: Pod;
  readonly spec: Container;
  readonly probe: Probe;
  readonly container: ContainerStatus;
  readonly podIp: string;
}

/** One probe of one container until its end: success of a startup probe, or a kill. */
class ProbeLoop {
  readonly #deps: ProberDeps;
  readonly #kind: ProbeKind;
  readonly #subject: ProbeSubject;
  #count: ProbeCount = NO_PROBE_YET;
  #timer: Timer | undefined;
  #stopped = false;
  /** For a pod on the machine's network it is the machine's address, which may change. */
  #podIp: string;

  constructor(deps: ProberDeps, kind: ProbeKind, subject: ProbeSubject) {
    this.#deps = deps;
    this.#kind = kind;
    this.#subject = subject;
    this.#podIp = subject.podIp;
    const startedAt = subject.container.startedAt ?? deps.clock.now();
    const initialMs = (subject.probe.initialDelaySeconds ?? 0) * 1000;
    // A clock that was set back since must not keep the probe away.
    this.#schedule(Math.min(initialMs, Math.max(0, startedAt + initialMs - deps.clock.now())));
  }

  verdict(): ProbeCount['verdict'] {
    return this.#count.verdict;
  }

  moveTo(podIp: string): void {
    this.#podIp = podIp;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #schedule(delayMs: number): void {
    this.#timer = this.#deps.clock.timer(delayMs, () => {
      void this.#round();
    });
  }

  async #round(): Promise<void> {
    const before = this.#count.verdict;
    const askedAt = this.#deps.clock.monotonic();
    const outcome = await this.#ask();
    if (this.#stopped) return;
    this.#measure(outcome, (this.#deps.clock.monotonic() - askedAt) / 1000);
    this.#tell(outcome);
    if (outcome.kind !== 'unknown') this.#count = countProbe(this.#count, outcome.kind, this.#subject.probe);
    const { verdict } = this.#count;
    const done =
      (this.#kind === 'startup' && verdict !== undefined) || (this.#kind === 'liveness' && verdict === 'failure');
    if (!done) this.#schedule((this.#subject.probe.periodSeconds ?? 10) * 1000);
    if (verdict !== before) this.#deps.onResult();
  }

  /** Repeats a check that could not be executed a few times without a pause. */
  async #ask(): Promise<Outcome> {
    let outcome = await this.#probe();
    for (let attempt = 1; outcome.kind === 'unknown' && attempt < PROBE_ATTEMPTS_MAX && !this.#stopped; attempt++)
      outcome = await this.#probe();
    return outcome;
  }

  #tell(outcome: Outcome): void {
    const { pod, spec } = this.#subject;
    if (outcome.kind === 'success') {
      const { warning } = outcome;
      if (warning !== undefined)
        this.#deps.onWarning(pod, spec.name, `${TITLES[this.#kind]} probe warning: ${warning}`);
      return;
    }
    const said = outcome.kind === 'failure' ? 'probe failed' : 'probe errored and resulted in unknown state';
    this.#deps.onFailure(pod, spec.name, `${TITLES[this.#kind]} ${said}: ${outcome.text}`);
  }

  #measure({ kind: outcome }: Outcome, seconds: number): void {
    const { pod, spec } = this.#subject;
    const { uid: podUid = '', name = '', namespace = '' } = pod.metadata;
    const of = { namespace, pod: name, podUid, container: spec.name, kind: this.#kind };
    this.#deps.probeMetrics?.observe({ ...of, result: MEASURED[outcome], seconds });
  }

  async #probe(): Promise<Outcome> {
    try {
      const warning = await this.#check();
      return warning === undefined ? { kind: 'success' } : { kind: 'success', warning };
    } catch (error) {
      const isUnknown = error instanceof CheckError || (error instanceof RuntimeError && error.code !== 'Timeout');
      return { kind: isUnknown ? 'unknown' : 'failure', text: describeError(error) };
    }
  }

  /** Rejects when the container is unhealthy, or with an unknown result. Resolves with a warning to report. */
  async #check(): Promise<string | undefined> {
    const { probe, container, spec } = this.#subject;
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    const target = { id: container.id, podIp: this.#podIp, ports: spec.ports ?? [], timeoutMs };
    if (probe.httpGet !== undefined) return runHttpGet(this.#deps, probe.httpGet, target);
    await this.#checkOtherwise(target);
    return undefined;
  }

  async #checkOtherwise(target: HandlerTarget): Promise<void> {
    const { probe, spec } = this.#subject;
    if (probe.exec !== undefined)
      return runExec(this.#deps, expandByStaticValues(probe.exec.command ?? [], spec), target);
    if (probe.grpc !== undefined) return runGrpc(this.#deps, probe.grpc, target);
    if (probe.tcpSocket === undefined) throw new CheckError('the probe has no check that this node supports');
    const port = portNumber(probe.tcpSocket.port, target.ports);
    return this.#deps.network.connect(probe.tcpSocket.host ?? target.podIp, port, target.timeoutMs);
  }
}

/** `unknown`: the check itself could not be made. */
type Outcome =
  | { readonly kind: 'success'; readonly warning?: string }
  | { readonly kind: 'failure' | 'unknown'; readonly text: string };

const MEASURED: Readonly<Record<Outcome['kind'], ProbeObservation['result']>> = {
  success: 'successful',
  failure: 'failed',
  unknown: 'unknown',
};

const TITLES: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};
