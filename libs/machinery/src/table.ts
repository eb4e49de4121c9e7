import { parseTime } from '@holdfast/platform/time';

export type TableCell = string | number | bigint | boolean | null;

/** One column of `kubectl get`. Columns of a resource definition have this type. */
export interface TableColumn<T> {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description: string;
  readonly priority: number;
  readonly cell: (object: Readonly<T>, context: { readonly now: number }) => TableCell;
}

export interface TableColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly TableCell[];
  readonly object?: unknown;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: FormVersion;
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  /** `null` when the client has them already. */
  readonly columnDefinitions: readonly TableColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

/** Both are equal in content. Clients that know only the older version request it by name. */
export type FormVersion = 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';

/** The object in each row: `includeObject=`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableRequest<T> {
  readonly objects: readonly T[];
  readonly columns: readonly TableColumn<T>[];
  readonly metadata: Table['metadata'];
  readonly include: IncludeObject;
  /** Epoch milliseconds. */
  readonly now: number;
  /** In a watch only the table of the first event has columns. */
  readonly withoutColumns?: boolean;
  readonly apiVersion?: FormVersion;
}

export function buildTable<T extends object>(request: TableRequest<T>): Table {
  const { columns, now, apiVersion = 'meta.k8s.io/v1' } = request;
  return {
    kind: 'Table',
    apiVersion,
    metadata: request.metadata,
    columnDefinitions: request.withoutColumns === true ? null : columns.map(columnDefinition),
    rows: request.objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, { now })),
      ...rowObject(object, request.include, apiVersion),
    })),
  };
}

function columnDefinition<T>({
  name,
  type,
  format = '',
  description,
  priority,
}: TableColumn<T>): TableColumnDefinition {
  return { name, type, format, description, priority };
}

function rowObject(object: object, include: IncludeObject, apiVersion: FormVersion): { readonly object?: unknown } {
  switch (include) {
    case 'None':
      return { object: null };
    case 'Object':
      return { object };
    case 'Metadata':
      return { object: partialObjectMetadata(object, apiVersion) };
  }
}

export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: FormVersion;
  readonly metadata: unknown;
}

export function partialObjectMetadata(
  object: object,
  apiVersion: FormVersion = 'meta.k8s.io/v1',
): PartialObjectMetadata {
  const metadata: unknown = 'metadata' in object ? object.metadata : {};
  return { kind: 'PartialObjectMetadata', apiVersion, metadata };
}

const UNKNOWN = '<unknown>';
const SECOND_MS = 1_000;

/** Formats the AGE cell, or `<unknown>` without a time. */
export function ageSince(timestamp: string | null | undefined, now: number): string {
  const then = typeof timestamp === 'string' ? parseTime(timestamp) : undefined;
  return then === undefined ? UNKNOWN : humanDuration(now - then);
}

/** Formats durations as kubectl does: at most two units, fewer for longer durations. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / SECOND_MS);
  // A clock difference of a second or two counts as "now"; more is an error.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  return humanDays(hours);
}

function humanDays(hours: number): string {
  const days = Math.trunc(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

const twoUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
