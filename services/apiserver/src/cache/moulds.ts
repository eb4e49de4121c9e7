import type { KubeObject } from '@holdfast/api';
import { JsonMould } from '@holdfast/machinery';
import { RecentMap } from '@holdfast/platform';

/** Owners for whose objects there are moulds. */
const OWNERS_MAX = 256;
/** Objects of one owner differ in structure too: waiting pods and running ones. */
const MOULDS_OF_OWNER_MAX = 2;
/** Larger objects are few. */
const TEXT_CHARACTERS_MAX = 8_192;
/** So many more texts without a mould than with one, and an owner's objects are parsed without a try. */
const CREDIT = 8;

/** The number of texts that were parsed whole, and that were filled into a mould. */
export interface ParseCounts {
  readonly parsed: number;
  readonly moulded: number;
}

interface Family {
  /** The last that fitted comes first. */
  readonly moulds: JsonMould[];
  credit: number;
}

/**
 * Parses the texts of objects. Those of one owner differ in a few strings, so only these are parsed: a quarter of the
 * time, and all of them share their other parts. The result is that of `JSON.parse`.
 */
export class Moulds {
  readonly #families = new RecentMap<string, Family>(OWNERS_MAX);
  #parsed = 0;
  #moulded = 0;

  /** For tests. */
  get counts(): ParseCounts {
    return { parsed: this.#parsed, moulded: this.#moulded };
  }

  /** Deep-frozen where a mould fitted. */
  parse(text: string): KubeObject {
    const family = text.length > TEXT_CHARACTERS_MAX ? undefined : this.#familyOf(text);
    if (family === undefined || family.credit === 0) return this.#parseWhole(text);
    const value = fitted(family, text);
    if (value !== undefined) {
      this.#moulded += 1;
      family.credit = CREDIT;
      return value;
    }
    family.credit -= 1;
    learn(family, text);
    return this.#parseWhole(text);
  }

  #parseWhole(text: string): KubeObject {
    this.#parsed += 1;
    return JSON.parse(text) as KubeObject;
  }

  /** `undefined` for an object without an owner. */
  #familyOf(text: string): Family | undefined {
    const owner = ownerIn(text);
    if (owner === undefined) return undefined;
    const known = this.#families.get(owner);
    if (known !== undefined) return known;
    const family = { moulds: [], credit: CREDIT };
    this.#families.set(owner, family);
    return family;
  }
}

const OWNERS = '"ownerReferences":[{';
const UID = '"uid":"';

/** The uid of the first owner. A wrong answer costs time, nothing else: a text fits a mould or does not. */
function ownerIn(text: string): string | undefined {
  const owners = text.indexOf(OWNERS);
  if (owners < 0) return undefined;
  const from = text.indexOf(UID, owners) + UID.length;
  return text.slice(from, text.indexOf('"', from));
}

function fitted({ moulds }: Family, text: string): KubeObject | undefined {
  for (const [at, mould] of moulds.entries()) {
    const value = mould.parse(text);
    if (value === undefined) continue;
    if (at > 0) moulds.unshift(...moulds.splice(at, 1));
    return value as KubeObject;
  }
  return undefined;
}

/** The next text like this one fits. */
function learn({ moulds }: Family, text: string): void {
  for (const [at, mould] of moulds.entries()) {
    const widened = mould.widened(text);
    if (widened === undefined) continue;
    moulds[at] = widened;
    return;
  }
  moulds.unshift(JsonMould.of(text));
  moulds.length = Math.min(moulds.length, MOULDS_OF_OWNER_MAX);
}

/** Those of this process. */
export const moulds = new Moulds();
