import { parseQuantity, Verbatim } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import { goPointer, goStringMapText } from '../go-text.ts';
import { goQuantityText } from '../quantities.ts';
import { GO_STRUCTS } from './structs.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Formats an API value as Go prints Kubernetes' internal type: `core.PodTemplateSpec{ObjectMeta:...}`, `[]int32{1}`.
 */
export const goValue = (type: string, value: unknown): Verbatim => new Verbatim(() => goText(type, value));

function goText(type: string, value: unknown): string {
  if (type === '*time') return value === undefined ? '<nil>' : goTime(value);
  if (type.startsWith('*')) return goPointer(type.slice(1), value);
  if (type.startsWith('[]')) return goList(type.slice(2), value);
  switch (type) {
    case 'string':
      return JSON.stringify(value ?? '');
    case 'bool':
      return String(value === true);
    case 'int':
    case 'int32':
      return typeof value === 'number' ? String(value) : '0';
    case 'time':
      return goTime(value);
    case 'map':
      return goStringMapText(isFields(value) ? (value as Readonly<Record<string, string>>) : undefined);
    case 'amounts':
      return goAmounts(value);
    default:
      // Named string types print like any string.
      return typeof value === 'string' ? JSON.stringify(value) : goStruct(type, isFields(value) ? value : {});
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function goList(type: string, value: unknown): string {
  if (!Array.isArray(value)) return `[]${type}(nil)`;
  return `[]${type}{${value.map((item) => goText(type, item)).join(', ')}}`;
}

function goStruct(type: string, value: Fields): string {
  const fields = (GO_STRUCTS[type] ?? []).map(([go, json, fieldType]) => {
    const inline = fieldType.startsWith('inline:');
    return `${go}:${inline ? goText(fieldType.slice('inline:'.length), value) : goText(fieldType, value[json])}`;
  });
  return `${type}{${fields.join(', ')}}`;
}

function goAmounts(value: unknown): string {
  if (!isFields(value)) return 'core.ResourceList(nil)';
  const entries = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${goQuantityText(parseQuantity(String(value[name])))}`);
  return `core.ResourceList{${entries.join(', ')}}`;
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

function goTime(value: unknown): string {
  const at = typeof value === 'string' ? parseTime(value) : undefined;
  if (at === undefined) return 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)';
  const [year = '', month = '', day = '', hours = '', minutes = '', seconds = ''] = String(value).split(/[-T:.Z]/);
  const name = MONTHS[Number(month) - 1] ?? 'January';
  const rest = [day, hours, minutes, seconds].map(Number).join(', ');
  return `time.Date(${Number(year)}, time.${name}, ${rest}, 0, time.Local)`;
}
