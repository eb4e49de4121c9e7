import {
  CATCH_ALL_FLOW_SCHEMA,
  FLOW_SCHEMAS,
  type FlowSchema,
  type KubeObject,
  PRIORITY_LEVEL_CONFIGURATIONS,
  type PriorityLevelConfiguration,
  type ResourceRef,
} from '@holdfast/api';
import type { ApiRequest } from '@holdfast/client';
import { type Clock, invariant, type Timer } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { isLongRunning } from '../http/long-running.ts';
import type { RequestInfo } from '../http/request-info.ts';
import { TooManyRequests } from '../http/too-many-requests.ts';
import { QUEUE_WAIT_MS, SEATS_REBALANCED_MS } from '../limits.ts';
import { completed, type FlowConfiguration } from './configuration.ts';
import { createFlowMetrics, type FlowMetrics, type Rejection } from './flow-metrics.ts';
import { FlowRequest } from './flow-request.ts';
import { limitsOf, sharesOf } from './level-limits.ts';
import { FlowMatcher } from './matching.ts';
import { PriorityLevel } from './priority-level.ts';
import { RequestKinds } from './request-kinds.ts';
import { Route } from './route.ts';
import { allocateSeats, fairFraction } from './seat-allocation.ts';
import { estimateWork, ONE_SEAT, type WorkEstimate } from './work-estimate.ts';

export interface FlowControlDeps {
  readonly cache: WatchCache;
  readonly clock: Clock;
  /** Requests that are executed at one time, those of exempt levels left out. */
  readonly seats: number;
  /** Schemas or levels have changed. */
  readonly onChange: () => void;
  /** Default: a new one. */
  readonly matcherOf?: ((schemas: readonly FlowSchema[]) => FlowMatcher) | undefined;
}

/** A request that waits, and how its wait ends. */
interface Wait {
  readonly resolve: (request: FlowRequest) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * API priority and fairness: which requests are executed now, which wait, and which are turned away. The decisions are those of `matching.ts`,
 * `queue-set.ts` and `seat-allocation.ts`; here are the clock and the cache. Each API server divides its own seats.
 */
export class FlowControl {
  readonly metrics: FlowMetrics;
  readonly #deps: FlowControlDeps;
  readonly #levels = new Map<string, PriorityLevel>();
  readonly #requests = new Set<FlowRequest>();
  #routing: Routing;
  #seen: Seen = { schemas: undefined, levels: undefined, schemaVersion: 0, levelVersion: 0 };
  #digest = '';
  #balancedAt: number;
  #waiting = 0;
  #fairFraction = 0;
  readonly #kinds: RequestKinds;
  #terminated = 0;
  /** While a request waits. */
  #balancing: Timer | undefined;

  constructor(deps: FlowControlDeps) {
    this.#deps = deps;
    this.#balancedAt = deps.clock.monotonic();
    this.#kinds = new RequestKinds(deps.seats, this.#balancedAt);
    this.metrics = createFlowMetrics({
      levels: () => this.levels(),
      kinds: this.#kinds,
      fairFraction: () => this.#fairFraction,
      now: () => deps.clock.monotonic(),
      terminated: () => this.#terminated,
    });
    this.#routing = this.#configure({ schemas: [], levels: [] });
  }

  /** By name. */
  levels(): readonly PriorityLevel[] {
    return [...this.#levels.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Waiting and executing requests by arrival. */
  requests(): Iterable<FlowRequest> {
    return this.#requests;
  }

  /** Every request has a schema: the last one matches all. */
  match(user: User, info: RequestInfo): Route {
    this.#refresh();
    const { matcher, routes, fallback } = this.#routing;
    const schema = matcher.match(user, info);
    return (schema === undefined ? undefined : routes.get(schema)) ?? fallback;
  }

  /** Gives the request its seats, or queues it; throws 429 when it is rejected. The owner of a ticket calls `finish`. */
  enter(
    route: Route,
    request: ApiRequest,
    { user, info }: { readonly user: User; readonly info: RequestInfo },
  ): FlowRequest | Promise<FlowRequest> {
    const now = this.#deps.clock.monotonic();
    if (now - this.#balancedAt >= SEATS_REBALANCED_MS) this.#rebalance(now);
    const { level, counts } = route;
    const entered = new FlowRequest(route, { user, info, arrivedAt: now }, this.#estimate(route, request, info));
    counts.seats(entered.seats);
    const arrival = level.queues.arrive(entered, now);
    if (arrival === 'queue-full' || arrival === 'concurrency-limit') throw this.#reject(entered, arrival, now);
    this.#requests.add(entered);
    level.observe(now);
    if (arrival === 'executing') {
      this.#began(entered);
      return entered;
    }
    counts.waiting += 1;
    this.#kinds.add('waiting', info.verb, { by: 1, now });
    counts.queueLength(level.queues.waiting);
    return new Promise((resolve, reject) => {
      this.#wait(entered, { resolve, reject, signal: request.signal });
      // Seats may be free: what came first may be too wide for them, and what has come now is not.
      level.queues.dispatch(now);
    });
  }

  finish(request: FlowRequest): void {
    const { level, counts } = request.route;
    const now = this.#deps.clock.monotonic();
    this.#requests.delete(request);
    this.#kinds.add('executing', request.info.verb, { by: -1, now });
    counts.executing -= 1;
    counts.executingSeats -= request.seats;
    counts.executed((now - request.beganAt) / 1_000);
    level.queues.finish(request, now);
    level.observe(now);
    if (now - this.#balancedAt >= SEATS_REBALANCED_MS) this.#rebalance(now);
    this.#forget(level, now);
  }

  /** Streams are not counted: they may last for days. A watch is until it has begun. */
  isCounted(info: RequestInfo): boolean {
    return !isLongRunning(info) || info.verb === 'watch';
  }

  #estimate({ level, counts }: Route, request: ApiRequest, info: RequestInfo): WorkEstimate {
    if (info.kind === 'path') return ONE_SEAT;
    const resource = this.#deps.cache.known(info.group, info.resource);
    if (resource === undefined) return ONE_SEAT;
    return estimateWork(request, info, {
      objects: () => resource.size,
      watchers: () => {
        counts.watchers(resource.watchers.size);
        return resource.watchers.size;
      },
      seatsMax: level.isExempt ? Number.POSITIVE_INFINITY : level.seatsMax,
    });
  }

  #began(request: FlowRequest): void {
    const { level, counts } = request.route;
    request.state = 'executing';
    this.#kinds.add('executing', request.info.verb, { by: 1, now: request.beganAt });
    level.observe(request.beganAt);
    level.counts.dispatched += 1;
    counts.dispatched += 1;
    counts.executing += 1;
    counts.executingSeats += request.seats;
    if (!level.isExempt) counts.waited((request.beganAt - request.arrivedAt) / 1_000);
  }

  #wait(request: FlowRequest, { resolve, reject, signal }: Wait): void {
    const giveUp = (why: 'time-out' | 'cancelled'): void => {
      const now = this.#deps.clock.monotonic();
      stop();
      this.#requests.delete(request);
      request.route.level.queues.leave(request, now);
      request.route.counts.waitedInVain((now - request.arrivedAt) / 1_000);
      reject(this.#reject(request, why, now));
      this.#forget(request.route.level, now);
    };
    const cancel = (): void => giveUp('cancelled');
    const timer = this.#deps.clock.timer(QUEUE_WAIT_MS, () => giveUp('time-out'));
    const stop = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', cancel);
      request.onBegin = undefined;
      request.route.counts.waiting -= 1;
      this.#kinds.add('waiting', request.info.verb, { by: -1, now: this.#deps.clock.monotonic() });
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#balancing?.cancel();
    };
    request.onBegin = () => {
      stop();
      this.#began(request);
      resolve(request);
    };
    this.#waiting += 1;
    if (this.#waiting === 1) this.#balanceLater();
    // Its client may have gone while it was found out who it is.
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  }

  /** Waiting requests get borrowed seats even if no other request arrives or ends. */
  #balanceLater(): void {
    const { clock } = this.#deps;
    this.#balancing = clock.timer(SEATS_REBALANCED_MS, () => {
      this.#rebalance(clock.monotonic());
      if (this.#waiting > 0) this.#balanceLater();
    });
  }

  #reject({ route: { level, counts } }: FlowRequest, why: Rejection, now: number): TooManyRequests {
    if (why !== 'cancelled') this.#terminated += 1;
    counts.rejected.set(why, (counts.rejected.get(why) ?? 0) + 1);
    if (why === 'time-out') level.counts.timedOut += 1;
    else if (why === 'cancelled') level.counts.cancelled += 1;
    else level.counts.rejected += 1;
    level.observe(now);
    return new TooManyRequests(level.retryAfter.refuse(now));
  }

  /** Looks whether what is stored is still what was digested: a comparison of numbers for a request. */
  #refresh(): void {
    const { cache } = this.#deps;
    const schemas = cache.resource(FLOW_SCHEMAS.group, FLOW_SCHEMAS.plural);
    const levels = cache.resource(PRIORITY_LEVEL_CONFIGURATIONS.group, PRIORITY_LEVEL_CONFIGURATIONS.plural);
    const seen = this.#seen;
    if (seen.schemas === schemas && seen.levels === levels) {
      if (seen.schemaVersion === schemas.version && seen.levelVersion === levels.version) return;
    }
    // A cache that is loaded again has not all objects yet.
    if (!cache.current) return;
    this.#seen = { schemas, levels, schemaVersion: schemas.version, levelVersion: levels.version };
    const stored = {
      schemas: objectsOf(FLOW_SCHEMAS, schemas),
      levels: objectsOf(PRIORITY_LEVEL_CONFIGURATIONS, levels),
    };
    this.#deps.onChange();
    const digest = digestOf(stored);
    if (digest === this.#digest) return;
    this.#digest = digest;
    this.#routing = this.#configure(stored);
  }

  #configure(stored: FlowConfiguration): Routing {
    const now = this.#deps.clock.monotonic();
    const { schemas, levels } = completed(stored);
    const names = new Set(levels.map(({ metadata }) => metadata.name ?? ''));
    for (const level of this.#levels.values()) {
      level.isQuiescing = !names.has(level.name);
      if (level.isQuiescing && level.queues.isIdle) this.#levels.delete(level.name);
    }
    const configurations = new Map([...this.#levels.values()].map((level) => [level.name, level.configuration]));
    for (const each of levels) configurations.set(each.metadata.name ?? '', each);
    this.#divide([...configurations.values()], now);
    return this.#route(schemas);
  }

  /** Gives each level its share of the seats. */
  #divide(configurations: readonly PriorityLevelConfiguration[], now: number): void {
    const shares = configurations.reduce((sum, each) => sum + sharesOf(each), 0);
    for (const configuration of configurations) {
      const name = configuration.metadata.name ?? '';
      const level = this.#levels.get(name) ?? new PriorityLevel(configuration, now);
      this.#levels.set(name, level);
      level.configure(configuration, limitsOf(configuration, { seats: this.#deps.seats, shares }), now);
    }
    this.#rebalance(now);
  }

  /** A level whose object is gone ends with its last request; the others have its seats from then on. */
  #forget(level: PriorityLevel, now: number): void {
    if (!level.isQuiescing || !level.queues.isIdle) return;
    this.#levels.delete(level.name);
    this.#divide(
      [...this.#levels.values()].map(({ configuration }) => configuration),
      now,
    );
  }

  #route(schemas: readonly FlowSchema[]): Routing {
    const routes = new Map<FlowSchema, Route>();
    let fallback: Route | undefined;
    for (const schema of schemas) {
      const level = this.#levels.get(schema.spec.priorityLevelConfiguration.name);
      invariant(level !== undefined, 'a usable schema has a level', { schema: schema.metadata.name });
      const counts = this.metrics.countsOf(schema.metadata.name ?? '', level.name);
      const route = new Route(schema, level, counts);
      routes.set(schema, route);
      if (route.schemaName === CATCH_ALL_FLOW_SCHEMA.name) fallback = route;
    }
    invariant(fallback !== undefined, 'a catch-all schema exists');
    const { matcherOf = (of) => new FlowMatcher(of) } = this.#deps;
    return { matcher: matcherOf(schemas), routes, fallback };
  }

  /** Lends what levels do not use to those that ask for more. */
  #rebalance(now: number): void {
    const periods = Math.max(1, Math.floor((now - this.#balancedAt) / SEATS_REBALANCED_MS));
    this.#balancedAt = now;
    const levels = [...this.#levels.values()];
    const total = levels.reduce((sum, { limits }) => sum + limits.nominal, 0);
    const claims = levels.map((level) => level.claim(now, periods));
    this.#fairFraction = fairFraction(total, claims);
    const seats = allocateSeats(this.#fairFraction, claims);
    for (const [i, level] of levels.entries()) level.grant(seats[i] ?? level.current, now);
  }
}

interface Routing {
  readonly matcher: FlowMatcher;
  readonly routes: ReadonlyMap<FlowSchema, Route>;
  /** For requests without a matching schema. */
  readonly fallback: Route;
}

interface Seen {
  readonly schemas: ResourceCache | undefined;
  readonly levels: ResourceCache | undefined;
  readonly schemaVersion: number;
  readonly levelVersion: number;
}

const objectsOf = <T extends KubeObject>(_ref: ResourceRef<T>, cache: ResourceCache): readonly T[] =>
  [...cache.values()].map(({ object }) => object as T);

/** Equal for objects with the same specs: a status changes nothing here. */
const digestOf = ({ schemas, levels }: FlowConfiguration): string =>
  [...schemas, ...levels]
    .map(({ kind, metadata: { uid, generation } }) => `${kind} ${uid} ${generation}`)
    .toSorted()
    .join();
