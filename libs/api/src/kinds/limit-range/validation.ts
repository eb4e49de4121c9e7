import {
  compareQuantities,
  duplicate,
  type FieldError,
  forbidden,
  formatQuantity,
  invalid,
  ownValue,
  parseQuantity,
  type Quantity,
  quantityOfUnits,
  required,
} from '@holdfast/machinery';
import type { LimitRange, LimitRangeItem } from '../../generated/types.ts';
import { validateQualifiedName } from '../../validation/check.ts';
import { goQuantity, validateContainerResourceName, validateResourceName } from '../../validation/quantities.ts';
import { isOvercommitAllowed } from '../../validation/resource-names.ts';

const STANDARD_TYPES = ['Pod', 'Container', 'PersistentVolumeClaim'];

export function validateLimitRange(out: FieldError[], { spec }: Readonly<LimitRange>): void {
  const types = new Set<string>();
  for (const [i, item] of (spec.limits ?? []).entries()) {
    const path = `spec.limits[${i}]`;
    const type = item.type ?? '';
    const before = out.length;
    validateQualifiedName(out, `${path}.type`, type);
    if (out.length === before && !type.includes('/') && !STANDARD_TYPES.includes(type)) {
      out.push(invalid(`${path}.type`, type, 'must be a standard limit type or fully qualified'));
    }
    if (types.has(type)) out.push(duplicate(`${path}.type`, type));
    types.add(type);
    validateItem(out, path, item);
  }
}

type ListName = 'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio';

function validateItem(out: FieldError[], path: string, item: Readonly<LimitRangeItem>): void {
  const forContainers = item.type === 'Pod' || item.type === 'Container';
  const names = new Set<string>();
  const visit = (list: ListName): void => {
    for (const name of Object.keys(item[list] ?? {}).sort()) {
      if (forContainers) validateContainerResourceName(out, `${path}.${list}[${name}]`, name);
      else validateResourceName(out, `${path}.${list}[${name}]`, name);
      names.add(name);
    }
  };
  visit('max');
  visit('min');
  for (const list of ['default', 'defaultRequest'] as const) {
    if (item.type !== 'Pod') visit(list);
    else if (Object.keys(item[list] ?? {}).length > 0) {
      out.push(forbidden(`${path}.${list}`, "may not be specified when `type` is 'Pod'"));
    }
  }
  const hasStorage = item.min?.['storage'] !== undefined || item.max?.['storage'] !== undefined;
  if (item.type === 'PersistentVolumeClaim' && !hasStorage) {
    const text = 'either minimum or maximum storage value is required, but neither was provided';
    out.push(required(`${path}.limits`, text));
  }
  visit('maxLimitRequestRatio');
  for (const name of [...names].sort()) validateAmounts(out, path, item, name);
}

interface Order {
  /** Must not exceed the other list. */
  readonly less: ListName;
  readonly more: ListName;
  readonly field: ListName;
  readonly shown: ListName;
  readonly text: (less: string, more: string) => string;
}

const ORDERS: readonly Order[] = [
  {
    less: 'min',
    more: 'max',
    field: 'min',
    shown: 'min',
    text: (a, b) => `min value ${a} is greater than max value ${b}`,
  },
  {
    less: 'min',
    more: 'defaultRequest',
    field: 'defaultRequest',
    shown: 'defaultRequest',
    text: (a, b) => `min value ${a} is greater than default request value ${b}`,
  },
  {
    less: 'defaultRequest',
    more: 'max',
    field: 'defaultRequest',
    shown: 'defaultRequest',
    text: (a, b) => `default request value ${a} is greater than max value ${b}`,
  },
  {
    less: 'defaultRequest',
    more: 'default',
    field: 'defaultRequest',
    shown: 'defaultRequest',
    text: (a, b) => `default request value ${a} is greater than default limit value ${b}`,
  },
  {
    less: 'min',
    more: 'default',
    field: 'default',
    shown: 'min',
    text: (a, b) => `min value ${a} is greater than default value ${b}`,
  },
  {
    less: 'default',
    more: 'max',
    field: 'default',
    shown: 'max',
    text: (a, b) => `default value ${a} is greater than max value ${b}`,
  },
];

function validateAmounts(out: FieldError[], path: string, item: Readonly<LimitRangeItem>, name: string): void {
  const amount = (list: ListName): Quantity | undefined => {
    const text = ownValue(item[list] ?? {}, name);
    return text === undefined || (item.type === 'Pod' && list.startsWith('default')) ? undefined : parseQuantity(text);
  };
  for (const { less, more, field, shown, text } of ORDERS) {
    const [a, b, value] = [amount(less), amount(more), amount(shown)];
    if (a === undefined || b === undefined || value === undefined || compareQuantities(a, b) <= 0) continue;
    out.push(invalid(`${path}.${field}[${name}]`, goQuantity(value), text(formatQuantity(a), formatQuantity(b))));
  }
  validateRatio(out, `${path}.maxLimitRequestRatio[${name}]`, amount('maxLimitRequestRatio'), [
    amount('min'),
    amount('max'),
  ]);
  validateEqualDefaults(out, `${path}.defaultRequest[${name}]`, name, [amount('default'), amount('defaultRequest')]);
}

function validateRatio(
  out: FieldError[],
  path: string,
  ratio: Quantity | undefined,
  [min, max]: readonly [Quantity | undefined, Quantity | undefined],
): void {
  if (ratio === undefined) return;
  const text = formatQuantity(ratio);
  if (compareQuantities(ratio, quantityOfUnits(1)) < 0)
    out.push(invalid(path, goQuantity(ratio), `ratio ${text} is less than 1`));
  if (min === undefined || max === undefined || min.nano === 0n) return;
  const limit = Number(max.nano) / Number(min.nano);
  if (Number(ratio.nano) / 1e9 <= limit) return;
  out.push(invalid(path, goQuantity(ratio), `ratio ${text} is greater than max/min = ${limit.toFixed(6)}`));
}

/** A resource that cannot be overcommitted needs equal request and limit. */
function validateEqualDefaults(
  out: FieldError[],
  path: string,
  name: string,
  [limit, request]: readonly [Quantity | undefined, Quantity | undefined],
): void {
  if (limit === undefined || request === undefined || isOvercommitAllowed(name)) return;
  if (compareQuantities(limit, request) === 0) return;
  const detail = `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`;
  out.push(invalid(path, goQuantity(request), detail));
}
