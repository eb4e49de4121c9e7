import { isNumeric } from '../exact-json.ts';
import { fieldElement, formatPath, type PathElement } from '../fieldpath/element.ts';
import { goInterfaceType, printGo } from '../go-types.ts';
import { isJsonArray, isJsonObject, type Json, type JsonObject } from '../json.ts';
import type { ListSchema, ScalarSchema, Schema } from '../schema.ts';

import { declaresField, fieldSchema, ItemProblem, itemElement } from './shape.ts';

/** Returns the errors in an applied configuration, in the words of Kubernetes; none when it fits its schema. */
export function validateTyped(value: JsonObject, schema: Schema): readonly string[] {
  const validator = new Validator();
  validator.check(value, schema);
  return validator.errors;
}

/** Formats one error as it is, several on lines of their own. */
export function formatTypedErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
}

class Validator {
  readonly errors: string[] = [];
  readonly #path: PathElement[] = [];

  check(value: Json, schema: Schema): void {
    if (value === null) return;
    switch (schema.kind) {
      case 'any':
        return;
      case 'scalar':
        return this.#scalar(value, schema);
      case 'list':
        return isJsonArray(value) ? this.#list(value, schema) : this.#report(`expected list, got ${pointerTo(value)}`);
      case 'map':
      case 'struct':
        return isJsonObject(value)
          ? this.#fields(value, schema)
          : this.#report(`expected map, got ${pointerTo(value)}`);
    }
  }

  #report(problem: string, ...below: readonly PathElement[]): void {
    const where = formatPath([...this.#path, ...below]);
    this.errors.push(where === '' ? problem : `${where}: ${problem}`);
  }

  /** The first unknown field ends the check of its struct. */
  #fields(value: JsonObject, schema: Schema): void {
    for (const [key, child] of Object.entries(value)) {
      if (schema.kind === 'struct' && schema.preserveUnknown !== true && !declaresField(schema, key)) {
        return this.#report('field not declared in schema', fieldElement(key));
      }
      this.#path.push(fieldElement(key));
      this.check(child, fieldSchema(schema, key));
      this.#path.pop();
    }
  }

  #list(value: readonly Json[], schema: ListSchema): void {
    const items = schema.items();
    const seen = new Set<PathElement>();
    for (const [index, item] of value.entries()) {
      const element = schema.listType === 'atomic' ? `i:${index}` : this.#identify(schema, item, index);
      if (element === undefined) continue;
      if (seen.has(element)) this.#report(`duplicate entries for key ${formatPath([element])}`);
      seen.add(element);
      this.#path.push(element);
      this.check(item, items);
      this.#path.pop();
    }
  }

  #identify(schema: ListSchema, item: Json, index: number): PathElement | undefined {
    const element = itemElement(schema, item);
    if (!(element instanceof ItemProblem)) return element;
    this.#report(`element ${index}: ${element.message}`);
    return undefined;
  }

  #scalar(value: Json, { scalar }: ScalarSchema): void {
    switch (scalar) {
      case 'string':
      case 'bytes':
        if (typeof value !== 'string')
          this.#report(`expected string, got &value.valueUnstructured{Value:${goLiteral(value)}}`);
        return;
      case 'boolean':
        if (typeof value !== 'boolean') this.#report(`expected boolean, got ${pointerTo(value)}`);
        return;
      case 'int32':
      case 'int64':
      case 'number':
        if (!isNumeric(value)) this.#report(`expected numeric (int or float), got ${goInterfaceType(value)}`);
        return;
      case 'quantity':
      case 'intOrString':
      case 'time':
      case 'microTime':
        if (typeof value === 'object') this.#report(`expected scalar, got ${pointerTo(value)}`);
        return;
    }
  }
}

/** Formats a pointer to a struct with this one value, as Go does. */
const pointerTo = (value: Json): string => `&{${printGo(value)}}`;

/** Formats a value in Go syntax. */
function goLiteral(value: Json): string {
  if (isJsonArray(value)) return `[]interface {}{${value.map(goLiteral).join(', ')}}`;
  if (!isJsonObject(value)) return value === null ? 'interface {}(nil)' : JSON.stringify(value);
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return `map[string]interface {}{${pairs.map(([key, child]) => `${JSON.stringify(key)}:${goLiteral(child)}`).join(', ')}}`;
}
