import { isJsonArray, isJsonObject, type Json, ownValue } from '@holdfast/machinery';
import type { ExtenderConfig } from '../configuration/extenders.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import { allContainers, type PodInfo } from '../domain/pod-info.ts';
import type { Candidate } from '../domain/preemption.ts';
import type { Rejection } from '../framework/plugin.ts';

/** Sends one request and resolves with the response body. Rejects on any status but 200, and on a time-out. */
export type Post = (config: ExtenderConfig, verb: string, body: unknown) => Promise<Json>;

/** Scores of extenders range to 10, those of plugins to 100. */
const SCORE_FACTOR = 10;

export interface Extended {
  readonly feasible: readonly NodeInfo[];
  readonly failed: ReadonlyMap<string, Rejection>;
}

/** An external service that takes part in decisions. */
export class Extender {
  readonly config: ExtenderConfig;
  readonly #post: Post;

  constructor(config: ExtenderConfig, post: Post) {
    this.config = config;
    this.#post = post;
  }

  get name(): string {
    return this.config.urlPrefix;
  }

  concerns({ pod }: PodInfo): boolean {
    const { managedResources } = this.config;
    if (managedResources.size === 0) return true;
    return allContainers(pod).some(({ resources }) =>
      [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})].some((name) =>
        managedResources.has(name),
      ),
    );
  }

  async filter(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<Extended> {
    const { filterVerb } = this.config;
    if (filterVerb === '') return { feasible: nodes, failed: new Map() };
    const answer = fieldsOf(await this.#post(this.config, filterVerb, this.#question(pod, nodes)));
    refuseError(this, answer('Error'));
    const kept = namesOf(answer('NodeNames')) ?? namesOfList(answer('Nodes')) ?? new Set(nodes.map(({ name }) => name));
    const failed = new Map([
      ...rejectionsOf(answer('FailedNodes'), true),
      ...rejectionsOf(answer('FailedAndUnresolvableNodes'), false),
    ]);
    return { feasible: nodes.filter(({ name }) => kept.has(name) && !failed.has(name)), failed };
  }

  /** Returns additions to the total scores. */
  async prioritize(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>> {
    const { prioritizeVerb, weight } = this.config;
    const scores = new Map<string, number>();
    if (prioritizeVerb === '') return scores;
    const answer = await this.#post(this.config, prioritizeVerb, this.#question(pod, nodes));
    for (const entry of isJsonArray(answer) ? answer : []) {
      const [host, score] = [fieldsOf(entry)('Host'), fieldsOf(entry)('Score')];
      if (typeof host === 'string' && typeof score === 'number') scores.set(host, score * weight * SCORE_FACTOR);
    }
    return scores;
  }

  /** Returns the accepted candidates, with the extender's choice of victims. */
  async preempt(pod: PodInfo, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { preemptVerb, nodeCacheCapable } = this.config;
    if (preemptVerb === '') return candidates;
    const victims = Object.fromEntries(candidates.map((each) => [each.nodeName, victimsOf(each, nodeCacheCapable)]));
    const key = nodeCacheCapable ? 'NodeNameToMetaVictims' : 'NodeNameToVictims';
    const answer = fieldsOf(await this.#post(this.config, preemptVerb, { Pod: pod.pod, [key]: victims }));
    const chosen = answer('NodeNameToMetaVictims');
    if (!isJsonObject(chosen)) return [];
    return candidates.flatMap((candidate) => {
      const meta = ownValue(chosen, candidate.nodeName);
      return meta === undefined ? [] : [narrowed(candidate, meta)];
    });
  }

  /** Returns false when the extender does not bind the pod. */
  async bind(pod: PodInfo, nodeName: string): Promise<boolean> {
    const { bindVerb } = this.config;
    if (bindVerb === '' || !this.concerns(pod)) return false;
    const body = { PodName: pod.name, PodNamespace: pod.namespace, PodUID: pod.uid, Node: nodeName };
    refuseError(this, fieldsOf(await this.#post(this.config, bindVerb, body))('Error'));
    return true;
  }

  #question({ pod }: PodInfo, nodes: readonly NodeInfo[]): unknown {
    if (this.config.nodeCacheCapable) return { Pod: pod, Nodes: null, NodeNames: nodes.map(({ name }) => name) };
    const items = nodes.map(({ node }) => node);
    return { Pod: pod, Nodes: { metadata: {}, items }, NodeNames: null };
  }
}

function refuseError({ name }: Extender, text: Json): void {
  if (typeof text === 'string' && text !== '') throw new Error(`extender ${name}: ${text}`);
}

/** Reads fields of a response, ignoring case. */
function fieldsOf(answer: Json): (name: string) => Json {
  if (!isJsonObject(answer)) return () => null;
  const fields = new Map(Object.entries(answer).map(([name, value]) => [name.toLowerCase(), value ?? null] as const));
  return (name) => fields.get(name.toLowerCase()) ?? null;
}

function namesOf(names: Json): ReadonlySet<string> | undefined {
  return isJsonArray(names) ? new Set(names.filter((name) => typeof name === 'string')) : undefined;
}

function namesOfList(list: Json): ReadonlySet<string> | undefined {
  const items = fieldsOf(list)('items');
  if (!isJsonArray(items)) return undefined;
  return namesOf(items.map((node) => fieldsOf(fieldsOf(node)('metadata'))('name')));
}

function rejectionsOf(failed: Json, resolvable: boolean): readonly (readonly [string, Rejection])[] {
  if (!isJsonObject(failed)) return [];
  return Object.entries(failed).map(([name, reason]) => [name, { reasons: [textOf(reason)], resolvable }]);
}

const textOf = (reason: Json | undefined): string => (typeof reason === 'string' ? reason : JSON.stringify(reason));

function victimsOf({ victims, violations }: Candidate, metaOnly: boolean): unknown {
  const Pods = metaOnly ? victims.map(({ uid }) => ({ UID: uid })) : victims.map(({ pod }) => pod);
  return { Pods, NumPDBViolations: violations };
}

function narrowed(candidate: Candidate, meta: Json): Candidate {
  const answer = fieldsOf(meta);
  const pods = answer('Pods');
  const uids = new Set((isJsonArray(pods) ? pods : []).map((pod) => fieldsOf(pod)('UID')));
  const violations = answer('NumPDBViolations');
  return {
    nodeName: candidate.nodeName,
    victims: candidate.victims.filter(({ uid }) => uids.has(uid)),
    violations: typeof violations === 'number' ? violations : candidate.violations,
  };
}
