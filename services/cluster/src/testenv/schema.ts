import { Problem } from './problem.ts';

/** The part of JSON Schema that the control endpoint uses, for its OpenAPI document and to check what it receives. */
export type Schema = TextSchema | NumberSchema | BooleanSchema | ListSchema | ObjectSchema | ChoiceSchema;

interface Described {
  readonly description?: string;
}

interface TextSchema extends Described {
  readonly type: 'string';
  readonly enum?: readonly string[];
  readonly minLength?: number;
}

interface NumberSchema extends Described {
  readonly type: 'integer' | 'number';
  readonly minimum?: number;
  readonly maximum?: number;
}

interface BooleanSchema extends Described {
  readonly type: 'boolean';
}

interface ListSchema extends Described {
  readonly type: 'array';
  readonly items: Schema;
  readonly maxItems?: number;
}

export interface ObjectSchema extends Described {
  readonly type: 'object';
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** `false`: no other fields; `true`: any others. */
  readonly additionalProperties: boolean | Schema;
}

interface ChoiceSchema extends Described {
  readonly anyOf: readonly Schema[];
}

/** Throws a `Problem` that names the wrong field. `at` is the name of the value, such as `hollowNodes[0].name`. */
export function check(schema: Schema, value: unknown, at: string): void {
  if ('anyOf' in schema) return checkChoice(schema, value, at);
  switch (schema.type) {
    case 'array':
      return checkList(schema, value, at);
    case 'object':
      return checkObject(schema, value, at);
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
      if (!isScalarOf(schema, value)) throw misfit(schema, at);
  }
}

function isScalarOf(schema: TextSchema | NumberSchema | BooleanSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string' && value.length >= (schema.minLength ?? 0) && isOneOf(schema.enum, value);
    case 'integer':
    case 'number':
      return (
        typeof value === 'number' && (schema.type === 'number' || Number.isInteger(value)) && isWithin(schema, value)
      );
  }
}

const isOneOf = (known: readonly string[] | undefined, value: string): boolean => known?.includes(value) ?? true;

const isWithin = ({ minimum = -Infinity, maximum = Infinity }: NumberSchema, value: number): boolean =>
  value >= minimum && value <= maximum;

function checkList(schema: ListSchema, value: unknown, at: string): void {
  if (!Array.isArray(value) || value.length > (schema.maxItems ?? Infinity)) throw misfit(schema, at);
  for (const [i, item] of value.entries()) check(schema.items, item, `${at}[${i}]`);
}

function checkObject(schema: ObjectSchema, value: unknown, at: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit(schema, at);
  const fields = new Map<string, unknown>(Object.entries(value));
  const known = new Map(Object.entries(schema.properties ?? {}));
  for (const [name, field] of fields) {
    const fieldSchema = known.get(name) ?? schema.additionalProperties;
    if (fieldSchema === true) continue;
    if (fieldSchema === false) throw unknownField(fieldAt(at, name), [...known.keys()]);
    check(fieldSchema, field, fieldAt(at, name));
  }
  const missing = schema.required?.find((name) => !fields.has(name));
  if (missing === undefined) return;
  throw new Problem(400, `the field ${fieldAt(at, missing)} is missing`, 'Add it; /openapi.json describes it.');
}

function checkChoice(schema: ChoiceSchema, value: unknown, at: string): void {
  const problems = schema.anyOf.map((option) => problemWith(option, value, at));
  if (problems.includes(undefined)) return;
  // The form that the value has, although something in it is wrong, tells more than all forms.
  throw problems.find((problem) => problem !== undefined && !isAbout(problem, at)) ?? misfit(schema, at);
}

function problemWith(schema: Schema, value: unknown, at: string): Problem | undefined {
  try {
    check(schema, value, at);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

const isAbout = (problem: Problem, at: string): boolean => problem.message.startsWith(`${at} has to be `);

/** Names in messages: those of users may be long. */
const NAME_CHARS_MAX = 100;
const fieldAt = (at: string, name: string): string => {
  const short = name.slice(0, NAME_CHARS_MAX);
  return at === BODY ? short : `${at}.${short}`;
};

/** What the whole body is called. */
export const BODY = 'the body';

const misfit = (schema: Schema, at: string): Problem =>
  new Problem(400, `${at} has to be ${formOf(schema)}`, 'Correct the value; /openapi.json describes it.');

const unknownField = (at: string, known: readonly string[]): Problem =>
  new Problem(
    400,
    `there is no field ${at}`,
    known.length === 0 ? 'Omit it: there are no fields here.' : `Use ${known.join(', ')}.`,
  );

function formOf(schema: Schema): string {
  if ('anyOf' in schema) return schema.anyOf.map(formOf).join(' or ');
  switch (schema.type) {
    case 'boolean':
      return 'true or false';
    case 'string':
      if (schema.enum !== undefined) return schema.enum.map((text) => JSON.stringify(text)).join(' or ');
      return schema.minLength === undefined ? 'a text' : 'a text that is not empty';
    case 'integer':
    case 'number': {
      const noun = schema.type === 'integer' ? 'a whole number' : 'a number';
      const { minimum = 0, maximum } = schema;
      return maximum === undefined ? `${noun} of at least ${minimum}` : `${noun} from ${minimum} to ${maximum}`;
    }
    case 'array':
      return schema.maxItems === undefined ? 'a list' : `a list of at most ${schema.maxItems}`;
    case 'object':
      return 'an object';
  }
}
