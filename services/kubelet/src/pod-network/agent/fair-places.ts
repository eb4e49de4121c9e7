export interface FairPlacesBounds {
  readonly perHolder: number;
  readonly all: number;
}

type GiveUp = () => void;

interface Group {
  count: number;
  readonly held: Map<string, Set<GiveUp>>;
}

/**
 * A bounded number of places that many holders share. When all are taken, a newcomer gets one of those of the greediest
 * group, or of the greediest holder of its own group, as long as that one keeps at least as many. So whoever holds less
 * than an equal share of all places gets another one, whatever the others do and however many they are.
 */
export class FairPlaces {
  readonly #bounds: FairPlacesBounds;
  readonly #groups = new Map<string, Group>();
  #count = 0;

  constructor(bounds: FairPlacesBounds) {
    this.#bounds = bounds;
  }

  /**
   * Returns how to give the place back; `undefined`: there is none. `giveUp` is called, once at most, when another holder
   * gets the place: it is free then. A holder belongs to one group.
   */
  take(holder: string, giveUp: GiveUp, group = ''): (() => void) | undefined {
    const own = this.#groups.get(group);
    const held = own?.held.get(holder)?.size ?? 0;
    if (held >= this.#bounds.perHolder) return undefined;
    if (this.#count >= this.#bounds.all && !this.#makeRoom(group, held)) return undefined;
    // A function of its own: a holder may give the same one twice.
    const place = (): void => giveUp();
    this.#add(group, holder, place);
    return () => this.#release(group, holder, place);
  }

  #makeRoom(group: string, held: number): boolean {
    const own = this.#groups.get(group);
    const [name, most] = [...this.#groups].reduce((one, each) => (each[1].count > one[1].count ? each : one));
    if (name !== group && most.count > (own?.count ?? 0) + 1) return this.#takeFrom(name, most, 0);
    return own !== undefined && this.#takeFrom(group, own, held + 1);
  }

  /** From the greediest holder of the group, when it has more than `kept`. */
  #takeFrom(name: string, { held }: Group, kept: number): boolean {
    const [holder, places] = [...held].reduce((most, each) => (each[1].size > most[1].size ? each : most));
    // The youngest: what was there before goes on.
    const place = [...places].at(-1);
    if (places.size <= kept || place === undefined) return false;
    this.#release(name, holder, place);
    place();
    return true;
  }

  #add(name: string, holder: string, place: GiveUp): void {
    const group = this.#groups.get(name) ?? { count: 0, held: new Map<string, Set<GiveUp>>() };
    const places = group.held.get(holder) ?? new Set();
    group.held.set(holder, places.add(place));
    group.count += 1;
    this.#groups.set(name, group);
    this.#count += 1;
  }

  #release(name: string, holder: string, place: GiveUp): void {
    const group = this.#groups.get(name);
    const places = group?.held.get(holder);
    if (group === undefined || places?.delete(place) !== true) return;
    this.#count -= 1;
    group.count -= 1;
    if (places.size === 0) group.held.delete(holder);
    if (group.count === 0) this.#groups.delete(name);
  }
}
