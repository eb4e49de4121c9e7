import { hasRules, type RuleEngine, type RuleSet } from '@holdfast/api';
import { checkRules } from './check.ts';
import { compileRule } from './compile-rule.ts';
import { type Clocked, CompiledRuleSet, type RuleNode } from './evaluate.ts';
import { entriesOf, listAt, objectAt, rulesOf, type Schema, textAt, textsAt } from './schema.ts';
import { isEmbedded, typeOfSchema } from './schema-type.ts';

/** Evaluates `x-kubernetes-validations`. Without a clock only the cost limits an evaluation. */
export function createRuleEngine(clock?: Clocked): RuleEngine {
  return {
    check: (schema, path, scope) => (hasRules(schema) ? checkRules(schema, path, scope) : []),
    compile: (schema) => compileSchema(schema, clock),
  };
}

function compileSchema(schema: Schema, clock: Clocked | undefined): RuleSet | undefined {
  const root = nodeOf(schema, schema, true);
  return root === undefined ? undefined : new CompiledRuleSet(root, clock);
}

/**
 * `rules` is the schema that contains the rules. For a part of `allOf` it differs from the schema that provides the
 * types.
 */
function nodeOf(schema: Schema, rules: Schema, isResource: boolean): RuleNode | undefined {
  if (!hasRules(rules)) return undefined;
  const sized = typeOfSchema(schema, isResource);
  if (sized === undefined) return undefined;
  const additional = childOf(schema, rules, 'additionalProperties');
  return {
    schema,
    type: sized.type,
    rules: rulesOf(rules).map((text) => compileRule(text, sized.type)),
    properties: propertiesOf(schema, rules),
    additional,
    items: childOf(schema, rules, 'items'),
    allOf: listAt(rules, 'allOf').flatMap((part) => nodeOf(schema, part, isResource) ?? []),
    mapKeys:
      textAt(schema, 'x-kubernetes-list-type') === 'map' ? textsAt(schema, 'x-kubernetes-list-map-keys') : undefined,
    isAtomicMap: textAt(schema, 'x-kubernetes-map-type') === 'atomic',
  };
}

function childOf(schema: Schema, rules: Schema, key: 'items' | 'additionalProperties'): RuleNode | undefined {
  const child = objectAt(schema, key);
  const childRules = objectAt(rules, key);
  return child === undefined || childRules === undefined ? undefined : nodeOf(child, childRules, isEmbedded(child));
}

function propertiesOf(schema: Schema, rules: Schema): ReadonlyMap<string, RuleNode> {
  const nodes = new Map<string, RuleNode>();
  const properties = objectAt(schema, 'properties');
  for (const [name, propertyRules] of entriesOf(objectAt(rules, 'properties'))) {
    const property = properties === undefined ? undefined : objectAt(properties, name);
    const node = property === undefined ? undefined : nodeOf(property, propertyRules, isEmbedded(property));
    if (node !== undefined) nodes.set(name, node);
  }
  return nodes;
}
