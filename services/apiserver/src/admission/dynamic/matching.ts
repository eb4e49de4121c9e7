import { allResources, NAMESPACES, type ResourceDefinition, type RuleWithOperations } from '@holdfast/api';
import { compileLabelSelector, type LabelSelectorMatcher, type LabelSelectorObject } from '@holdfast/machinery';
import type { ObjectReader } from '../../cache/reader.ts';
import type { Kinds } from '../../kinds/custom-kinds.ts';
import { storedNameOf } from '../../objects/stored-object.ts';
import { type Attributes, labelsOf } from './attributes.ts';

type Rule = Readonly<RuleWithOperations> & { readonly resourceNames?: readonly string[] };

/** The requests that a webhook, a policy or a binding covers. */
export interface Scope {
  /** Absent in bindings: every request of the policy. */
  readonly rules?: readonly Rule[] | undefined;
  readonly excludeRules?: readonly Rule[] | undefined;
  readonly matchPolicy?: string | undefined;
  readonly namespaceSelector?: LabelSelectorObject | undefined;
  readonly objectSelector?: LabelSelectorObject | undefined;
}

/** The input of rules, known before the object is read. */
export type Place = Pick<Attributes, 'definition' | 'operation' | 'subresource' | 'name'>;

export interface Matcher {
  /** True when a rule matches the request. Cheap: most requests concern no webhook. */
  readonly concerns: (place: Place) => boolean;
  /** The other version or group that the rule names, when no rule names that of the request. */
  readonly equivalent: (place: Place) => ResourceDefinition | undefined;
  readonly matches: (attributes: Attributes) => boolean;
  /** May look the namespace up in the store. Asked last. */
  readonly matchesNamespace: (attributes: Attributes) => boolean | Promise<boolean>;
}

export interface MatchingDeps {
  readonly reader: ObjectReader;
  readonly kinds: Kinds;
}

export function createMatcher(scope: Scope, { reader, kinds }: MatchingDeps): Matcher {
  const objects = compileLabelSelector(scope.objectSelector ?? {});
  const namespaces = compileLabelSelector(scope.namespaceSelector ?? {});
  const others = (place: Place): readonly ResourceDefinition[] =>
    scope.matchPolicy === 'Exact' ? [] : equivalentsOf(kinds, place.definition);
  const fits = (rules: readonly Rule[], place: Place): boolean =>
    fitsDirectly(rules, place) || equivalentBy(rules, place, others(place)) !== undefined;
  const concerns = (place: Place): boolean => scope.rules === undefined || fits(scope.rules, place);
  return {
    concerns,
    equivalent: (place) =>
      scope.rules === undefined || fitsDirectly(scope.rules, place)
        ? undefined
        : equivalentBy(scope.rules, place, others(place)),
    matches: (attributes) =>
      concerns(attributes) &&
      !fits(scope.excludeRules ?? [], attributes) &&
      (objects.empty || hasLabels(objects, attributes.object) || hasLabels(objects, attributes.oldObject)),
    matchesNamespace: (attributes) => namespaceFits(namespaces, attributes, reader),
  };
}

const fitsDirectly = (rules: readonly Rule[], place: Place): boolean => rules.some((rule) => ruleFits(rule, place));

/** The first rule decides, as in Kubernetes. */
function equivalentBy(
  rules: readonly Rule[],
  { operation, subresource, name }: Place,
  others: readonly ResourceDefinition[],
): ResourceDefinition | undefined {
  for (const rule of rules) {
    const found = others.find((definition) => ruleFits(rule, { definition, operation, subresource, name }));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A definition that changes gets new kinds, so no entry gets stale. */
const equivalents = new WeakMap<ResourceDefinition, readonly ResourceDefinition[]>();

/** The other versions and groups that serve the same objects. */
function equivalentsOf(kinds: Kinds, definition: ResourceDefinition): readonly ResourceDefinition[] {
  const known = equivalents.get(definition);
  if (known !== undefined) return known;
  const found = versionsOf(kinds, definition).filter(
    ({ group, version }) => group !== definition.group || version !== definition.version,
  );
  equivalents.set(definition, found);
  return found;
}

function versionsOf(kinds: Kinds, definition: ResourceDefinition): readonly ResourceDefinition[] {
  if (definition.custom !== undefined) {
    const name = definition.custom.definition;
    return [
      ...(kinds
        .definitions()
        .find(({ summary }) => summary.name === name)
        ?.versions.values() ?? []),
    ];
  }
  const { group, plural } = storedNameOf(definition);
  return allResources().filter((each) => {
    const stored = storedNameOf(each);
    return stored.group === group && stored.plural === plural;
  });
}

/** An absent object, or one without metadata such as connection options, matches no selector. */
function hasLabels(selector: LabelSelectorMatcher, object: Attributes['object']): boolean {
  return object !== null && Object.hasOwn(object, 'metadata') && selector.matches(labelsOf(object));
}

function ruleFits(rule: Rule, place: Place): boolean {
  const { definition, operation, subresource, name } = place;
  return (
    has(rule.operations, operation) &&
    has(rule.apiGroups, definition.group) &&
    (rule.resources ?? []).some((pattern) => resourceFits(pattern, definition.plural, subresource)) &&
    scopeFits(rule.scope, place) &&
    ((rule.resourceNames ?? []).length === 0 || rule.resourceNames?.includes(name) === true) &&
    has(rule.apiVersions, definition.version)
  );
}

function has(values: readonly string[] | undefined, wanted: string): boolean {
  return values !== undefined && (values.includes('*') || values.includes(wanted));
}

/** `pods`, `pods/status`, `*`, all scales, all of a pod. Without a slash a pattern is about no subresource. */
function resourceFits(pattern: string, plural: string, subresource: string): boolean {
  const slash = pattern.indexOf('/');
  const resource = slash === -1 ? pattern : pattern.slice(0, slash);
  const sub = slash === -1 ? '' : pattern.slice(slash + 1);
  return (resource === '*' || resource === plural) && (sub === subresource || sub === '*');
}

/** A Namespace is an object of the cluster, though requests name it as their namespace. */
function scopeFits(scope: string | undefined, { definition }: Place): boolean {
  if (scope === undefined || scope === '*') return true;
  return scope === (definition.namespaced ? 'Namespaced' : 'Cluster');
}

function namespaceFits(
  selector: LabelSelectorMatcher,
  attributes: Attributes,
  reader: ObjectReader,
): boolean | Promise<boolean> {
  const { definition, namespace, object, oldObject } = attributes;
  if (selector.empty) return true;
  if (definition.group === '' && definition.plural === 'namespaces') {
    return selector.matches(labelsOf(object ?? oldObject));
  }
  if (!definition.namespaced) return true;
  const known = reader.cached(NAMESPACES, { name: namespace });
  if (known !== undefined) return selector.matches(known.metadata.labels ?? {});
  return reader.fresh(NAMESPACES, { name: namespace }).then((found) => selector.matches(found?.metadata.labels ?? {}));
}
