import type { Notes } from '@holdfast/bus';
import type { Clock, Ids, Log, Service, Timer } from '@holdfast/platform';
import { AUTHOR_NOTE_CHARS_MAX, AUTHOR_NOTE_MS } from '../limits.ts';
import { authorText, composeNote, readNote, type Written, writtenChars } from './author-note.ts';
import type { History } from './history.ts';

export interface AuthorNotesDeps {
  readonly notes: Notes;
  readonly history: Pick<History, 'lineage' | 'onWrote' | 'told'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/**
 * Tells the other API servers who wrote which revisions, and hears it from them. One small text now and then, and no write
 * waits for it: what does not fit, or gets lost, has an unknown author.
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
    this.#stopListening = notes.listen((text) => this.#hear(text));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#deps.history.onWrote = undefined;
    this.#stopListening();
    this.#send();
    return Promise.resolve();
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
    const written = this.#written;
    const lineage = this.#deps.history.lineage;
    this.#written = [];
    this.#authors.clear();
    this.#isFull &&= this.#chars > AUTHOR_NOTE_CHARS_MAX / 2;
    this.#chars = 0;
    if (written.length === 0 || lineage === undefined) return;
    this.#deps.notes.tell(composeNote({ from: this.#own, lineage, written }));
  }

  #hear(text: string): void {
    const { history } = this.#deps;
    const note = readNote(text);
    if (note === undefined || note.from === this.#own || note.lineage !== history.lineage) return;
    for (const written of note.written) history.told(written);
  }
}
