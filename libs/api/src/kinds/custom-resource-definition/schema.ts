import { type FieldError, forbidden, invalid, type JsonObject, semanticEqual, Verbatim } from '@holdfast/machinery';
import type { Effort } from '../../custom/effort.ts';
import { embeddedErrors } from '../../custom/embedded.ts';
import { goLiteral } from '../../custom/list-types.ts';
import { prune } from '../../custom/prune.ts';
import type { RuleEngine } from '../../custom/rules.ts';
import { type SchemaNode, schemaNode } from '../../custom/schema-node.ts';
import { schemaErrors } from '../../custom/validate.ts';
import { structSchema } from '../../schema-table.ts';
import type { DefinitionBudget } from './definition-budget.ts';
import { openApiErrors } from './open-api-schema.ts';
import { structureErrors } from './structure.ts';

/** Maximum nesting of schemas. */
const DEPTH_MAX = 64;
/** Schemas of one version at all levels: three times the largest ones in use. */
const SCHEMAS_MAX = 100_000;
/** Characters of all patterns: they compile in at most two seconds. */
const PATTERN_CHARS_TOTAL_MAX = 65_536;

export interface SchemaRules {
  readonly rules: RuleEngine | undefined;
  /** The schema before an update. */
  readonly old: JsonObject | undefined;
  readonly budget: DefinitionBudget;
}

/** Returns all errors in the schema of one version. */
export function validateSchema(
  out: FieldError[],
  path: string,
  schema: JsonObject,
  { rules, old, budget }: SchemaRules,
): void {
  if (old !== undefined && semanticEqual(old, schema)) return;
  const size = sizeProblem(schema, budget);
  if (size !== undefined) {
    out.push(forbidden(path, size));
    return;
  }
  const before = out.length;
  if (schema['nullable'] === true) out.push(forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  const structure = structureErrors(path, schema);
  out.push(...(structure.length > 0 ? structure : defaultErrors(path, schema, budget.effort)));
  out.push(...openApiErrors(path, schema));
  if (out.length === before) out.push(...(rules?.check(schema, path, { old, patterns: budget.patterns }) ?? []));
}

/** A larger schema would slow down every write. */
function sizeProblem(schema: JsonObject, budget: DefinitionBudget): string | undefined {
  let schemas = 0;
  let patterns = 0;
  let depth = 0;
  let isTooHeavy = false;
  const visit = (value: unknown, level: number): void => {
    if (typeof value !== 'object' || value === null || depth > DEPTH_MAX * 2) return;
    depth = Math.max(depth, level);
    schemas += Array.isArray(value) ? 0 : 1;
    for (const [key, child] of Object.entries(value)) {
      if (key === 'pattern' && typeof child === 'string') {
        patterns += child.length;
        if (patterns <= PATTERN_CHARS_TOTAL_MAX) isTooHeavy ||= !budget.patterns.fits(child);
      }
      // The content of a default is data.
      else if (key !== 'default' && key !== 'enum' && key !== 'example') visit(child, level + 1);
    }
  };
  visit(schema, 0);
  if (depth > DEPTH_MAX * 2) return `must not be nested more than ${DEPTH_MAX} levels deep`;
  if (schemas > SCHEMAS_MAX) return `must not consist of more than ${SCHEMAS_MAX} schemas`;
  if (patterns > PATTERN_CHARS_TOTAL_MAX)
    return `must not have patterns of more than ${PATTERN_CHARS_TOTAL_MAX} characters`;
  if (isTooHeavy) return 'must not have patterns that are so large with their repetitions written out';
  return undefined;
}

/** A default must fit its own schema. */
function defaultErrors(path: string, schema: JsonObject, effort: Effort): readonly FieldError[] {
  const node = schemaNode(schema);
  const out: FieldError[] = [];
  visitDefaults(out, path, node, effort);
  return out;
}

function visitDefaults(out: FieldError[], path: string, node: SchemaNode, effort: Effort): void {
  if (!node.has.defaults) return;
  const below = (step: string, child: SchemaNode): void => visitDefaults(out, `${path}.${step}`, child, effort);
  if (node.default !== undefined) checkDefault(out, `${path}.default`, node, effort);
  for (const [name, property] of node.properties) below(`properties[${name}]`, property);
  if (node.items !== undefined) below('items', node.items);
  if (node.additional !== undefined) below('additionalProperties', node.additional);
}

function checkDefault(out: FieldError[], path: string, node: SchemaNode, effort: Effort): void {
  const value = node.default ?? null;
  const objectMeta = structSchema('meta.v1.ObjectMeta');
  if (objectMeta !== undefined && typeof value === 'object' && value !== null) {
    const wrapper = { ...EMPTY, properties: new Map([['default', node]]) };
    const { unknownFields } = prune({ default: value }, wrapper, { objectMeta, metadata: 'mended' });
    if (unknownFields.length > 0) {
      out.push(invalid(path, new Verbatim(goLiteral(value)), 'must not have unknown fields'));
      return;
    }
  }
  out.push(...embeddedErrors(value, node).map((error) => ({ ...error, field: `${path}${error.field}` })));
  out.push(...schemaErrors(value, node, { root: path, effort }));
}

const EMPTY: SchemaNode = schemaNode({ type: 'object' });
