import type { KubeObject, Service } from '@holdfast/api';
import { compileLabelMap, compileRequirements, hasPairs, type LabelSelectorMatcher } from '@holdfast/machinery';
import type { PodInfo } from './pod-info.ts';

/** The owners of a pod as a selector of similar pods. */
export interface OwnerSelectors {
  /** Returns `undefined` when no service selects the pod and no controller with a selector owns it. */
  selectorFor(pod: PodInfo): LabelSelectorMatcher | undefined;
}

/** Selectors of services, by the labels of a pod, and of controllers, by name. */
export class OwnerSelectorIndex implements OwnerSelectors {
  readonly #controllers = new Map<string, LabelSelectorMatcher>();
  readonly #services = new Map<string, Readonly<Record<string, string>>>();
  /** Keys of services by namespace and one of their pairs: a pod is compared only with services that share a label. */
  readonly #byPair = new Map<string, Set<string>>();

  setController(controller: KubeObject, selector: LabelSelectorMatcher): void {
    this.#controllers.set(controllerKey(controller), selector);
  }

  removeController(controller: KubeObject): void {
    this.#controllers.delete(controllerKey(controller));
  }

  setService(service: Service): void {
    this.removeService(service);
    const selector = service.spec.selector ?? {};
    const key = keyOf(service);
    const pair = pairOf(service.metadata.namespace ?? '', selector);
    if (pair === undefined) return;
    this.#services.set(key, selector);
    this.#byPair.set(pair, (this.#byPair.get(pair) ?? new Set<string>()).add(key));
  }

  removeService(service: Service): void {
    const key = keyOf(service);
    const selector = this.#services.get(key);
    if (selector === undefined) return;
    this.#services.delete(key);
    const pair = pairOf(service.metadata.namespace ?? '', selector) ?? '';
    const keys = this.#byPair.get(pair);
    keys?.delete(key);
    if (keys?.size === 0) this.#byPair.delete(pair);
  }

  selectorFor(pod: PodInfo): LabelSelectorMatcher | undefined {
    const merged: Record<string, string> = {};
    for (const [label, value] of Object.entries(pod.labels)) {
      for (const key of this.#byPair.get(`${pod.namespace}\n${label}\n${value}`) ?? []) {
        const selector = this.#services.get(key) ?? {};
        if (hasPairs(pod.labels, selector)) {
          Object.assign(merged, selector);
        }
      }
    }
    const { owner } = pod;
    const owners =
      owner === undefined ? undefined : this.#controllers.get(ownerKey(owner.kind, pod.namespace, owner.name));
    const requirements = [...compileLabelMap(merged).requirements, ...(owners?.requirements ?? [])];
    return requirements.length === 0 ? undefined : compileRequirements(requirements);
  }
}

const ownerKey = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;

function controllerKey({ kind, metadata: { namespace = '', name = '' } }: KubeObject): string {
  return ownerKey(kind, namespace, name);
}

const keyOf = ({ metadata: { namespace = '', name = '' } }: Service): string => `${namespace}/${name}`;

/** A service selects only pods that have all its pairs, so any one of them finds it. */
function pairOf(namespace: string, selector: Readonly<Record<string, string>>): string | undefined {
  const [first] = Object.entries(selector);
  return first === undefined ? undefined : `${namespace}\n${first[0]}\n${first[1]}`;
}
