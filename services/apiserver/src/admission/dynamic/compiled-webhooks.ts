import type { KubeObject, MutatingWebhook, ResourceRef, ValidatingWebhook } from '@holdfast/api';
import type { ObjectReader } from '../../cache/reader.ts';
import { MatchConditions } from './conditions.ts';
import { conditionEnvironment } from './expressions.ts';
import { createMatcher, type Matcher, type MatchingDeps } from './matching.ts';

export interface CompiledWebhook {
  /** Unique in the cluster: configuration, name and place. */
  readonly id: string;
  /** The configuration that contains it. */
  readonly configuration: string;
  readonly webhook: Readonly<ValidatingWebhook> & { readonly reinvocationPolicy?: string };
  readonly isMutating: boolean;
  /** The first version of the review that both sides know. */
  readonly reviewVersion: string;
  readonly matcher: Matcher;
  readonly conditions: MatchConditions;
}

interface Configuration extends KubeObject {
  readonly webhooks?: readonly (ValidatingWebhook | MutatingWebhook)[];
}

/** The webhooks of all configurations, in the order of their names. Each configuration is compiled once. */
export class WebhookSource {
  readonly #ref: ResourceRef<Configuration>;
  readonly #isMutating: boolean;
  readonly #deps: MatchingDeps & { readonly reader: ObjectReader };
  readonly #compiled = new WeakMap<object, readonly CompiledWebhook[]>();

  constructor(ref: ResourceRef<Configuration>, isMutating: boolean, deps: MatchingDeps) {
    this.#ref = ref;
    this.#isMutating = isMutating;
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#deps.reader.list(this.#ref).length === 0;
  }

  all(): readonly CompiledWebhook[] {
    const configurations = this.#deps.reader.list(this.#ref);
    const sorted = configurations.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    return sorted.flatMap((configuration) => this.#compile(configuration));
  }

  #compile(configuration: Configuration): readonly CompiledWebhook[] {
    const known = this.#compiled.get(configuration);
    if (known !== undefined) return known;
    const webhooks = (configuration.webhooks ?? []).map((webhook, index) =>
      this.#webhook(webhook, nameOf(configuration), index),
    );
    this.#compiled.set(configuration, webhooks);
    return webhooks;
  }

  #webhook(webhook: ValidatingWebhook | MutatingWebhook, configuration: string, index: number): CompiledWebhook {
    const { rules = [], matchPolicy, namespaceSelector, objectSelector, matchConditions = [] } = webhook;
    return {
      id: `${configuration}/${webhook.name}/${index}`,
      configuration,
      webhook,
      isMutating: this.#isMutating,
      reviewVersion: webhook.admissionReviewVersions.find((each) => each === 'v1' || each === 'v1beta1') ?? 'v1',
      matcher: createMatcher({ rules, matchPolicy, namespaceSelector, objectSelector }, this.#deps),
      conditions: new MatchConditions(matchConditions, conditionEnvironment),
    };
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}
