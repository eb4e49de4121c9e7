import { fieldElement, type PathElement } from '../fieldpath/element.ts';
import { type FieldSet, FieldSetBuilder } from '../fieldpath/field-set.ts';
import { isEmptyObject, isJsonObject, type Json, type JsonObject } from '../json.ts';
import type { ListSchema, Schema } from '../schema.ts';
import { declaresField, fieldSchema, itemsByElement, listOf, listSchema, objectOf, treatmentOf } from './shape.ts';

/** Returns the fields of a configuration: leaves, keys of maps, items of lists, but not the structs on the way. */
export function toFieldSet(value: JsonObject, schema: Schema): FieldSet {
  const collector = new Collector();
  collector.collect(value, schema);
  return collector.fields.set;
}

class Collector {
  readonly fields = new FieldSetBuilder();
  readonly #path: PathElement[] = [];

  collect(value: Json, schema: Schema): void {
    switch (treatmentOf(schema, value)) {
      case 'leaf':
        return this.fields.insert(this.#path);
      case 'fields':
        return this.#collectFields(schema, objectOf(value));
      case 'items':
        return this.#collectItems(listSchema(schema), listOf(value));
    }
  }

  #collectFields(schema: Schema, value: JsonObject | undefined): void {
    for (const key in value) {
      const child = value[key] ?? null;
      this.#path.push(fieldElement(key));
      this.collect(child, fieldSchema(schema, key));
      const isEmpty = child === null || (isJsonObject(child) && isEmptyObject(child));
      if (isEmpty || !declaresField(schema, key)) this.fields.insert(this.#path);
      this.#path.pop();
    }
  }

  #collectItems(list: ListSchema, value: readonly Json[] | undefined): void {
    const schema = list.items();
    for (const [element, items] of itemsByElement(list, value)) {
      const [only, ...duplicates] = items;
      this.#path.push(element);
      if (only !== undefined && duplicates.length === 0) this.collect(only, schema);
      this.fields.insert(this.#path);
      this.#path.pop();
    }
  }
}
