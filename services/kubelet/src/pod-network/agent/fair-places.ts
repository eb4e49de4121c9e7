export interface FairPlacesBounds {
  readonly perHolder: number;
  readonly all: number;
}

type GiveUp = () => void;

/**
 * A bounded number of places that many holders share. When all are taken, a newcomer gets one of those of the greediest
 * holder, as long as that one keeps at least as many. So whoever holds less than an equal share of all places gets
 * another one, whatever the others do.
 */
export class FairPlaces {
  readonly #bounds: FairPlacesBounds;
  readonly #held = new Map<string, Set<GiveUp>>();
  #count = 0;

  constructor(bounds: FairPlacesBounds) {
    this.#bounds = bounds;
  }

  /**
   * Returns how to give the place back; `undefined`: there is none. `giveUp` is called, once at most, when another holder
   * gets the place: it is free then.
   */
  take(holder: string, giveUp: GiveUp): (() => void) | undefined {
    const own = this.#held.get(holder)?.size ?? 0;
    if (own >= this.#bounds.perHolder) return undefined;
    if (this.#count >= this.#bounds.all && !this.#makeRoom(own)) return undefined;
    // A function of its own: a holder may give the same one twice.
    const place = (): void => giveUp();
    const places = this.#held.get(holder) ?? new Set();
    this.#held.set(holder, places.add(place));
    this.#count += 1;
    return () => this.#release(holder, place);
  }

  #makeRoom(own: number): boolean {
    const [holder, places] = [...this.#held].reduce((most, each) => (each[1].size > most[1].size ? each : most));
    if (places.size <= own + 1) return false;
    // The youngest: what was there before goes on.
    const place = [...places].at(-1);
    if (place === undefined) return false;
    this.#release(holder, place);
    place();
    return true;
  }

  #release(holder: string, place: GiveUp): void {
    const places = this.#held.get(holder);
    if (places?.delete(place) !== true) return;
    this.#count -= 1;
    if (places.size === 0) this.#held.delete(holder);
  }
}
