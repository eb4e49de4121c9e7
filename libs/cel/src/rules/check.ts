import type { PatternRoom, RuleScope } from '@holdfast/api';
import { type FieldError, forbidden, invalid, notSupported, required, Verbatim } from '@holdfast/machinery';
import { STATIC_COST_LIMIT, STATIC_TOTAL_COST_LIMIT } from '../limits.ts';
import { type CompiledRule, compileRule } from './compile-rule.ts';
import { readFieldPath } from './field-path.ts';
import { entriesOf, listAt, numberAt, objectAt, type RuleText, rulesOf, type Schema, textAt } from './schema.ts';
import { isEmbedded, maxOccurrences, typeOfSchema } from './schema-type.ts';

/** The position of a schema and what it means for its rules. */
interface Place {
  readonly path: string;
  readonly isResource: boolean;
  /** Maximum number of such values in one object; `undefined` when a list or map above it is unbounded. */
  readonly cardinality: number | undefined;
  /** The nearest list above whose elements cannot be matched with the old object. */
  readonly uncorrelatable: string | undefined;
}

const REASONS = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];
const HINT =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
const COSTLIEST_SHOWN = 4;

/** Checks all rules of a schema: syntax, types and cost. */
export function checkRules(schema: Schema, path: string, { old, patterns }: RuleScope): readonly FieldError[] {
  const checker = new RuleChecker(old === undefined ? new Set() : expressionsOf(old), patterns);
  checker.visit(schema, { path, isResource: true, cardinality: 1, uncorrelatable: undefined });
  return checker.finish(path);
}

class RuleChecker {
  readonly #errors: FieldError[] = [];
  readonly #costs: { readonly path: string; readonly cost: number }[] = [];
  readonly #known: ReadonlySet<string>;
  readonly #patterns: PatternRoom;

  constructor(known: ReadonlySet<string>, patterns: PatternRoom) {
    this.#known = known;
    this.#patterns = patterns;
  }

  finish(path: string): readonly FieldError[] {
    const total = this.#costs.reduce((sum, { cost }) => sum + cost, 0);
    if (total <= STATIC_TOTAL_COST_LIMIT) return this.#errors;
    const costliest = this.#costs.toSorted((a, b) => b.cost - a.cost).slice(0, COSTLIEST_SHOWN);
    for (const each of costliest) {
      if (each.cost < STATIC_TOTAL_COST_LIMIT / 100) continue;
      this.#errors.push(
        forbidden(
          each.path,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      );
    }
    const text = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    this.#errors.push(forbidden(path, excess(text, total, STATIC_TOTAL_COST_LIMIT)));
    return this.#errors;
  }

  visit(schema: Schema, place: Place): void {
    this.#checkOwn(schema, place);
    for (const [name, property] of entriesOf(objectAt(schema, 'properties'))) {
      this.visit(property, this.#child(place, `${place.path}.properties[${name}]`, property, {}));
    }
    const additional = objectAt(schema, 'additionalProperties');
    if (additional !== undefined) {
      const atomic = textAt(schema, 'x-kubernetes-map-type') === 'atomic';
      const bound = numberAt(schema, 'maxProperties');
      this.visit(
        additional,
        this.#child(place, `${place.path}.additionalProperties`, additional, { bound, within: atomic, repeated: true }),
      );
    }
    const items = objectAt(schema, 'items');
    if (items !== undefined) {
      const keyed = textAt(schema, 'x-kubernetes-list-type') === 'map';
      const bound = numberAt(schema, 'maxItems');
      this.visit(items, this.#child(place, `${place.path}.items`, items, { bound, within: !keyed, repeated: true }));
    }
    for (const [index, part] of listAt(schema, 'allOf').entries())
      this.#checkPart(schema, part, { ...place, path: `${place.path}.allOf[${index}]` });
  }

  /** Rules in `allOf` see the type of the enclosing schema. */
  #checkPart(schema: Schema, part: Schema, place: Place): void {
    this.#checkOwn({ ...schema, 'x-kubernetes-validations': part['x-kubernetes-validations'] ?? [] }, place);
  }

  #child(
    { path, cardinality, uncorrelatable }: Place,
    childPath: string,
    schema: Schema,
    { bound, within, repeated }: { bound?: number | undefined; within?: boolean; repeated?: boolean },
  ): Place {
    const factor = repeated === true ? bound : 1;
    return {
      path: childPath,
      isResource: isEmbedded(schema),
      cardinality: cardinality === undefined || factor === undefined ? undefined : cardinality * Math.max(0, factor),
      uncorrelatable: uncorrelatable ?? (within === true ? path : undefined),
    };
  }

  #checkOwn(schema: Schema, place: Place): void {
    const rules = rulesOf(schema);
    if (rules.length === 0) return;
    const sized = typeOfSchema(schema, place.isResource);
    if (sized === undefined) {
      this.#errors.push(
        forbidden(
          `${place.path}.x-kubernetes-validations`,
          'rules are not allowed on a schema that expressions cannot see',
        ),
      );
      return;
    }
    const cardinality = place.cardinality ?? maxOccurrences(sized.minBytes);
    for (const [index, rule] of rules.entries()) {
      const path = `${place.path}.x-kubernetes-validations[${index}]`;
      this.#checkForm(rule, path, schema);
      const compiled = compileRule(rule, sized.type, this.#patterns);
      this.#checkCompiled(compiled, path, { cardinality, uncorrelatable: place.uncorrelatable });
    }
  }

  #checkForm(rule: RuleText, path: string, schema: Schema): void {
    const errors = this.#errors;
    const message = rule.message.trim();
    if (rule.rule.trim() === '') errors.push(required(`${path}.rule`, 'rule is not specified'));
    if (rule.message !== '' && message === '') {
      errors.push(invalid(`${path}.message`, rule.message, 'message must be non-empty if specified'));
    } else if (message.includes('\n')) {
      errors.push(invalid(`${path}.message`, rule.message, 'message must not contain line breaks'));
    } else if (rule.rule.trim().includes('\n') && message === '') {
      errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'));
    }
    if (rule.reason !== undefined && !REASONS.includes(rule.reason)) {
      errors.push(notSupported(`${path}.reason`, rule.reason, REASONS));
    }
    if (rule.fieldPath !== '') this.#checkFieldPath(rule.fieldPath, path, schema);
  }

  #checkFieldPath(text: string, path: string, schema: Schema): void {
    const wrong = (detail: string): number => this.#errors.push(invalid(`${path}.fieldPath`, text, detail));
    if (text.trim() === '') wrong('fieldPath must be non-empty if specified');
    else if (text.includes('\n')) wrong('fieldPath must not contain line breaks');
    else {
      const { error } = readFieldPath(text, schema);
      if (error !== undefined) wrong(`fieldPath is an invalid path: ${error}`);
    }
  }

  #checkCompiled(
    rule: CompiledRule,
    path: string,
    { cardinality, uncorrelatable }: { cardinality: number; uncorrelatable: string | undefined },
  ): void {
    const { text } = rule;
    if (this.#known.has(text.rule) && this.#known.has(text.messageExpression)) return;
    if (rule.error !== undefined) this.#errors.push(invalid(`${path}.rule`, goRule(text), rule.error));
    if (rule.messageError !== undefined) {
      this.#errors.push(invalid(`${path}.messageExpression`, goRule(text), rule.messageError));
    }
    this.#checkCost('estimated rule cost', `${path}.rule`, (rule.program?.maxCost ?? 0) * cardinality);
    if (rule.message !== undefined) {
      this.#checkCost(
        'estimated messageExpression cost',
        `${path}.messageExpression`,
        rule.message.maxCost * cardinality,
      );
    }
    if (rule.usesOldSelf && uncorrelatable !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      this.#errors.push(invalid(`${path}.rule`, text.rule, detail));
    }
    if (!rule.usesOldSelf && rule.program !== undefined && text.optionalOldSelf !== undefined) {
      const detail = 'may not be set if oldSelf is not used in rule';
      this.#errors.push(invalid(`${path}.optionalOldSelf`, text.optionalOldSelf, detail));
    }
  }

  #checkCost(what: string, path: string, cost: number): void {
    const known = Number.isNaN(cost) ? 0 : cost;
    this.#costs.push({ path, cost: known });
    if (known > STATIC_COST_LIMIT) this.#errors.push(forbidden(path, excess(what, known, STATIC_COST_LIMIT)));
  }
}

function excess(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const times = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${times} ${HINT}`;
}

/** Returns all expressions of a schema. Unchanged expressions are not refused again. */
function expressionsOf(schema: Schema): ReadonlySet<string> {
  const found = new Set<string>(['']);
  const collect = (each: Schema): void => {
    for (const { rule, messageExpression } of rulesOf(each)) found.add(rule).add(messageExpression);
    for (const [, property] of entriesOf(objectAt(each, 'properties'))) collect(property);
    for (const key of ['items', 'additionalProperties']) {
      const child = objectAt(each, key);
      if (child !== undefined) collect(child);
    }
    for (const part of listAt(each, 'allOf')) collect(part);
  };
  collect(schema);
  return found;
}

/** Formats a rule as Go does. */
function goRule({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: RuleText): Verbatim {
  const quoted = JSON.stringify;
  const pointer = (type: string, value: unknown): string =>
    `(*${type})(${value === undefined ? 'nil' : '0xc000000000'})`;
  return new Verbatim(
    `apiextensions.ValidationRule{Rule:${quoted(rule)}, Message:${quoted(message)}, MessageExpression:${quoted(messageExpression)}, Reason:${pointer('apiextensions.FieldValueErrorReason', reason)}, FieldPath:${quoted(fieldPath)}, OptionalOldSelf:${pointer('bool', optionalOldSelf)}}`,
  );
}
