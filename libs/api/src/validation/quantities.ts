import {
  compareQuantities,
  type FieldError,
  forbidden,
  formatQuantity,
  invalid,
  ownValue,
  parseQuantity,
  type Quantity,
  QuantityError,
  required,
  Verbatim,
  ZERO_QUANTITY,
} from '@holdfast/machinery';
import type { ResourceRequirements } from '../generated/types.ts';
import { qualifiedNameErrors } from './formats.ts';
import { NEGATIVE_TEXT, NOT_ABOVE_ZERO_TEXT } from './numbers.ts';
import {
  hugePageSize,
  isExtendedResource,
  isHugePages,
  isIntegerResource,
  isNativeResource,
  isOvercommitAllowed,
  isStandardContainerResource,
  isStandardQuotaResource,
  isStandardResource,
} from './resource-names.ts';

type Amounts = Readonly<Record<string, string>>;
type NameCheck = (out: FieldError[], path: string, name: string) => void;

const NANOS_PER_UNIT = 1_000_000_000n;

export function validateNonNegativeQuantity(out: FieldError[], path: string, text: string): void {
  const quantity = parseQuantity(text);
  if (quantity.nano < 0n) out.push(invalid(path, formatQuantity(quantity), NEGATIVE_TEXT));
}

export function validatePositiveQuantity(out: FieldError[], path: string, text: string): void {
  const quantity = parseQuantity(text);
  if (quantity.nano <= 0n) out.push(invalid(path, formatQuantity(quantity), NOT_ABOVE_ZERO_TEXT));
}

/** Validates a stored amount: never negative, and an integer for counted resources. */
export function validateResourceAmount(out: FieldError[], path: string, name: string, text: string): void {
  validateNonNegativeQuantity(out, path, text);
  if (!isIntegerResource(name)) return;
  const quantity = parseQuantity(text);
  if (quantity.nano % NANOS_PER_UNIT !== 0n) out.push(invalid(path, goQuantity(quantity), 'must be an integer'));
}

/** A capacity may be zero but not negative. */
export function validateBasicAmount(out: FieldError[], path: string, text: string): void {
  const { nano } = parseQuantity(text);
  if (nano < 0n) out.push(invalid(path, Number(-(-nano / NANOS_PER_UNIT)), 'must be a valid resource quantity'));
}

export function goQuantityText(quantity: Quantity): string {
  const millis = quantity.nano / 1_000_000n;
  const whole = quantity.nano % NANOS_PER_UNIT === 0n;
  const [value, scale] = whole ? [quantity.nano / NANOS_PER_UNIT, 0] : [millis, -3];
  return `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"", Format:"${quantity.format}"}`;
}

export const goQuantity = (quantity: Quantity): Verbatim => new Verbatim(goQuantityText(quantity));

/** Resource names print without quotes. */
const goName = (name: string): Verbatim => new Verbatim(name);

export function validateResourceName(out: FieldError[], path: string, name: string): boolean {
  const errors = qualifiedNameErrors(name);
  for (const text of errors) out.push(invalid(path, goName(name), text));
  if (errors.length > 0) return false;
  if (name.includes('/') || isStandardResource(name)) return true;
  out.push(invalid(path, goName(name), 'must be a standard resource type or fully qualified'));
  return false;
}

export function validateContainerResourceName(out: FieldError[], path: string, name: string): void {
  validateResourceName(out, path, name);
  if (!name.includes('/')) {
    if (!isStandardContainerResource(name)) {
      out.push(invalid(path, goName(name), 'must be a standard resource for containers'));
    }
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    out.push(invalid(path, goName(name), "doesn't follow extended resource name standard"));
  }
}

export function validateQuotaResourceName(out: FieldError[], path: string, name: string): void {
  validateResourceName(out, path, name);
  if (!name.includes('/') && !isStandardQuotaResource(name)) {
    out.push(invalid(path, goName(name), 'must be a standard resource for quota'));
  }
}

/** Validates every amount of a list, sorted by name. */
export function validateAmounts(out: FieldError[], path: string, list: Amounts | undefined, names: NameCheck): void {
  for (const name of Object.keys(list ?? {}).sort()) {
    names(out, `${path}[${name}]`, name);
    validateResourceAmount(out, `${path}[${name}]`, name, list?.[name] ?? '0');
  }
}

export function validateContainerResources(
  out: FieldError[],
  path: string,
  resources: Readonly<ResourceRequirements>,
): void {
  const { limits = {}, requests = {} } = resources;
  for (const name of Object.keys(limits).sort()) {
    const amount = limits[name] ?? '0';
    validateContainerAmount(out, `${path}.limits[${name}]`, name, amount);
    validateHugePages(out, `${path}.limits[${name}]`, name, amount);
  }
  for (const name of Object.keys(requests).sort()) {
    const amount = requests[name] ?? '0';
    validateContainerAmount(out, `${path}.requests[${name}]`, name, amount);
    validateRequestWithinLimit(out, path, name, { amount, limit: ownValue(limits, name) });
    validateHugePages(out, `${path}.requests[${name}]`, name, amount);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    out.push(forbidden(path, 'HugePages require cpu or memory'));
  }
}

function validateContainerAmount(out: FieldError[], path: string, name: string, amount: string): void {
  validateContainerResourceName(out, path, name);
  validateResourceAmount(out, path, name, amount);
}

function validateRequestWithinLimit(
  out: FieldError[],
  path: string,
  name: string,
  { amount, limit }: { readonly amount: string; readonly limit: string | undefined },
): void {
  if (limit === undefined) {
    if (!isOvercommitAllowed(name)) {
      out.push(required(`${path}.limits`, 'Limit must be set for non overcommitable resources'));
    }
    return;
  }
  const [asked, most] = [parseQuantity(amount), parseQuantity(limit)];
  const order = compareQuantities(asked, most);
  const [asText, mostText] = [formatQuantity(asked), formatQuantity(most)];
  if (order !== 0 && !isOvercommitAllowed(name)) {
    out.push(invalid(`${path}.requests`, asText, `must be equal to ${name} limit of ${mostText}`));
  } else if (order > 0) {
    out.push(invalid(`${path}.requests`, asText, `must be less than or equal to ${name} limit of ${mostText}`));
  }
}

function validateHugePages(out: FieldError[], path: string, name: string, amount: string): void {
  if (!isHugePages(name)) return;
  const quantity = parseQuantity(amount);
  const size = pageSizeOf(name);
  if (size !== undefined && quantity.nano % size.nano === 0n) return;
  const text = formatQuantity(quantity);
  out.push(invalid(path, text, `${text} is not positive integer multiple of ${name}`));
}

function pageSizeOf(name: string): Quantity | undefined {
  try {
    const size = parseQuantity(hugePageSize(name));
    return compareQuantities(size, ZERO_QUANTITY) > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

export function goResourceList(list: Readonly<Record<string, string>> | undefined): Verbatim {
  if (list === undefined) return new Verbatim('core.ResourceList(nil)');
  const entries = Object.keys(list)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${goQuantityText(parseQuantity(ownValue(list, name) ?? '0'))}`);
  return new Verbatim(`core.ResourceList{${entries.join(', ')}}`);
}
