import type { WatchEvent } from '@holdfast/client';
import { type Asked } from './asked.ts';
import { isName, isNamed } from './rule.ts';
import type { Setting } from './settings.ts';

/** One state of one object, as a watch delivers it. */
export interface Point {
  /** `pods`, `apps.example.com`. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
  /** Default: any. */
  readonly type?: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Counted from 1; default 1. */
  readonly nth?: number;
}

export const POINT_SETTING: Setting = {
  type: 'object',
  description: 'Begins with the n-th event of this object that a watch of the client would deliver.',
  properties: {
    resource: { type: 'string', description: 'The plural name, such as pods or apps.example.com.' },
    namespace: { type: 'string' },
    name: { type: 'string', description: 'A trailing * stands for any rest.' },
    type: { type: 'string', enum: ['ADDED', 'MODIFIED', 'DELETED'] },
    nth: { type: 'integer', minimum: 1 },
  },
  required: ['resource', 'name'],
  additionalProperties: false,
};

export interface SeenObject {
  readonly metadata?: {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export const objectOf = ({ object }: WatchEvent): SeenObject =>
  typeof object === 'object' && object !== null ? object : {};

/** 0 for an object without one. */
export const revisionOf = (event: WatchEvent): number => Number(objectOf(event).metadata?.resourceVersion ?? 0);

export function keyOf(event: WatchEvent): string {
  const { namespace = '', name = '' } = objectOf(event).metadata ?? {};
  return `${namespace}/${name}`;
}

/** Recognizes a point. Several watches may deliver the same event: it counts once, by its revision. */
export class PointFinder {
  readonly #point: Point;
  readonly #seen = new Set<number>();
  /** Absent: not yet found. */
  revision: number | undefined;

  constructor(point: Point) {
    this.#point = point;
  }

  /** True for the event of the point. */
  find({ info }: Asked, event: WatchEvent): boolean {
    const { type, nth = 1 } = this.#point;
    if (!this.#isAbout(info, event) || (type !== undefined && event.type !== type)) return false;
    const revision = revisionOf(event);
    if (this.revision !== undefined) return revision === this.revision;
    this.#seen.add(revision);
    if (this.#seen.size !== nth) return false;
    this.revision = revision;
    return true;
  }

  #isAbout(info: Asked['info'], event: WatchEvent): boolean {
    const { resource, namespace, name: wanted } = this.#point;
    if (!isNamed(resource, info)) return false;
    const { name = '', namespace: given = '' } = objectOf(event).metadata ?? {};
    if (namespace !== undefined && given !== namespace) return false;
    return isName(wanted, name);
  }
}
