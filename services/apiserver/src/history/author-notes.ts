import type { Notes } from '@holdfast/bus';
import type { Clock, Ids, Log, Service, Timer } from '@holdfast/platform';
import { RecentMap } from '@holdfast/platform';
import { AUTHOR_NOTE_CHARS_MAX, AUTHOR_NOTE_MS, NOTE_SENDERS_MAX, REFUSALS_TOLD_CHARS_MAX } from '../limits.ts';
import {
  type AuthorNote,
  authorText,
  composeNote,
  readNote,
  refusedChars,
  type Written,
  writtenChars,
} from './author-note.ts';
import type { History } from './history.ts';
import type { RefusedWrite } from './open-batch.ts';

export interface AuthorNotesDeps {
  readonly notes: Notes;
  readonly history: Pick<History, 'lineage' | 'onWrote' | 'onRefused' | 'told' | 'toldRefused'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/**
 * Tells the other API servers who wrote which revisions, and which writes were refused, and hears it from them. One
 * small text now and then, and no write waits for it: what does not fit, or gets lost, has an unknown author, or is a
 * refusal that only this server knows.
 */
export function createAuthorNotes(deps: AuthorNotesDeps): Service {
  return new AuthorNotes(deps);
}

class AuthorNotes implements Service {
  readonly name = 'authors of revisions';
  readonly #deps: AuthorNotesDeps;
  readonly #own: string;
  #written: Written[] = [];
  /** Authors of `#written`: most requests of a moment are of few. */
  readonly #authors = new Set<string>();
  #chars = 0;
  #refused: RefusedWrite[] = [];
  #refusedChars = 0;
  #number = 0;
  /** Numbers of the last notes of other servers. */
  readonly #heard = new RecentMap<string, number>(NOTE_SENDERS_MAX);
  #timer: Timer | undefined;
  #isFull = false;
  #stopListening = (): void => {};

  constructor(deps: AuthorNotesDeps) {
    this.#deps = deps;
    this.#own = deps.ids.uuid();
  }

  start(): Promise<void> {
    const { history, notes } = this.#deps;
    history.onWrote = (written) => this.#add(written);
    history.onRefused = (write) => this.#addRefused(write);
    this.#stopListening = notes.listen((text) => this.#hear(text));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#deps.history.onWrote = undefined;
    this.#deps.history.onRefused = undefined;
    this.#stopListening();
    this.#send();
    return Promise.resolve();
  }

  /** Left out beyond its part of a note: whoever is refused all the time is known for it by then. */
  #addRefused(write: RefusedWrite): void {
    const chars = refusedChars(write);
    if (this.#refusedChars + chars > REFUSALS_TOLD_CHARS_MAX) return;
    this.#refusedChars += chars;
    this.#refused.push(write);
    this.#timer ??= this.#deps.clock.timer(AUTHOR_NOTE_MS, () => this.#send());
  }

  #add(written: Written): void {
    const author = authorText(written.authorship.author);
    const chars = writtenChars(written) + (this.#authors.has(author) ? 0 : author.length);
    if (this.#chars + chars > AUTHOR_NOTE_CHARS_MAX) return this.#noteFull();
    this.#chars += chars;
    this.#authors.add(author);
    this.#written.push(written);
    this.#timer ??= this.#deps.clock.timer(AUTHOR_NOTE_MS, () => this.#send());
  }

  /** Once for each time that it begins. */
  #noteFull(): void {
    if (!this.#isFull) {
      this.#deps.log.info('writes come faster than their authors are told to the other API servers', {
        toldEveryMs: AUTHOR_NOTE_MS,
      });
    }
    this.#isFull = true;
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const [written, refused] = [this.#written, this.#refused];
    const lineage = this.#deps.history.lineage;
    this.#written = [];
    this.#refused = [];
    this.#refusedChars = 0;
    this.#authors.clear();
    this.#isFull &&= this.#chars > AUTHOR_NOTE_CHARS_MAX / 2;
    this.#chars = 0;
    if (written.length + refused.length === 0 || lineage === undefined) return;
    this.#number += 1;
    this.#deps.notes.tell(composeNote({ from: this.#own, number: this.#number, lineage, written, refused }));
  }

  #hear(text: string): void {
    const { history } = this.#deps;
    const note = readNote(text);
    if (note === undefined || note.from === this.#own || note.lineage !== history.lineage) return;
    for (const written of note.written) history.told(written);
    if (this.#isNew(note)) for (const write of note.refused) history.toldRefused(write);
  }

  /** Authors may be told twice; a refusal would be there twice. */
  #isNew({ from, number }: AuthorNote): boolean {
    if (number <= (this.#heard.touch(from) ?? 0)) return false;
    this.#heard.set(from, number);
    return true;
  }
}
