import { badOption } from '../options.ts';

/** A part of JSON Schema: the control endpoint describes lenses by it, and each lens is checked by it. */
export type Setting = ScalarSetting | ListSetting | GroupSetting;

interface ScalarSetting {
  readonly type: 'integer' | 'number' | 'string' | 'boolean';
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface ListSetting {
  readonly type: 'array';
  readonly description?: string;
  readonly items: { readonly type: 'string' };
  readonly maxItems?: number;
}

interface GroupSetting {
  readonly type: 'object';
  readonly description?: string;
  readonly properties: Readonly<Record<string, Setting>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/** Throws an `OperatorError` that names the wrong setting. The values may come from JSON. */
export function checkSettings(given: object, known: ReadonlyMap<string, Setting>, at = ''): void {
  for (const [name, value] of Object.entries(given)) {
    const setting = known.get(name);
    if (setting === undefined) {
      throw badOption(`a lens of this kind has no setting "${at}${name}"`, `Use ${[...known.keys()].join(', ')}.`);
    }
    if (value !== undefined) checkSetting(setting, value, `${at}${name}`);
  }
}

function checkSetting(setting: Setting, value: unknown, at: string): void {
  if (setting.type === 'object') {
    if (typeof value !== 'object' || value === null) throw misfit(at, 'an object');
    const missing = setting.required?.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) throw badOption(`the setting ${at}.${missing} is missing`, 'Add it.');
    return checkSettings(value, new Map(Object.entries(setting.properties)), `${at}.`);
  }
  if (setting.type === 'array') {
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return;
    throw misfit(at, 'a list of texts');
  }
  if (!isScalar(setting, value)) throw misfit(at, formOf(setting));
}

function isScalar({ type, enum: known, minimum = 0, maximum = Infinity }: ScalarSetting, value: unknown): boolean {
  if (type === 'boolean' || type === 'string') {
    return typeof value === type && (known === undefined || known.some((each) => each === value));
  }
  if (typeof value !== 'number' || (type === 'integer' && !Number.isInteger(value))) return false;
  return value >= minimum && value <= maximum;
}

function formOf({ type, enum: known, minimum = 0, maximum }: ScalarSetting): string {
  if (known !== undefined) return known.map((each) => JSON.stringify(each)).join(' or ');
  if (type === 'boolean') return 'true or false';
  if (type === 'string') return 'a text';
  const noun = type === 'integer' ? 'a whole number' : 'a number';
  return maximum === undefined ? `${noun} of at least ${minimum}` : `${noun} from ${minimum} to ${maximum}`;
}

const misfit = (at: string, form: string): Error =>
  badOption(`the setting ${at} has to be ${form}`, 'Correct the value.');
