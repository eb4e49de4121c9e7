import { CHANGES_MAX, documentOf, type Film, type FilmSource, filmsOf, readMaterial } from '@holdfast/client/film';
import { parseDuration } from '@holdfast/platform/durations';
import { defineCommand } from '../command.ts';
import { filmLines } from '../film/lines.ts';
import { filmPage } from '../film/page.ts';
import { readerOf } from '../history/read.ts';
import { misuse, plainName } from '../misuse.ts';
import { writePage } from '../pages.ts';
import type { Session } from '../session.ts';

export const FILM = defineCommand({
  usage: 'film [--node NODE] [--since 10m] [--html FILE]',
  about:
    'Shows the loss of a node as it happened: when it was silent, when it was fenced, what became of its pods and\n' +
    'volumes, how long each step took and what brought it about; and, in a sentence each, what still waits and why.',
  settings: {
    node: { kind: 'string', help: 'Only losses of this node' },
    since: { kind: 'string', help: 'How far back, such as 90s or 1h', default: '10m' },
    json: { kind: 'boolean', help: 'One JSON document a line: one for each loss' },
    html: { kind: 'string', help: 'Write a page to this file' },
  },
  act: async ({ settings, words }, session, { print, tell }) => {
    if (words.length > 0) throw misuse(`"${words[0]}" is not expected`, 'Name a node with --node NODE.');
    const { node, since, json, html } = settings;
    if (node !== undefined) plainName(node);
    const sinceMs = parseDuration(since);
    if (sinceMs === undefined) throw misuse(`"${since}" is not a duration`, 'Give it as in --since 10m.');
    const { material, isCut } = await readMaterial(sourceOf(session), { sinceMs, node });
    if (isCut) tell(`Warning: only the first ${CHANGES_MAX} changes of a kind were read; ask for less with --since.`);
    const films = filmsOf(material, node);
    if (html !== undefined) {
      await writePage(html, filmPage(films, { node, since }));
      (json ? tell : print)(`${films.length === 1 ? '1 loss is' : `${films.length} losses are`} in ${html}`);
    }
    if (json) for (const film of films) print(JSON.stringify(documentOf(film)));
    else if (html === undefined) print(textOf(films, node, since));
  },
});

const sourceOf = (session: Session): FilmSource => ({
  read: readerOf(session),
  client: session.client,
});

const textOf = (films: readonly Film[], node: string | undefined, since: string): string =>
  films.length === 0
    ? `${node ?? 'no node'} was ${node === undefined ? '' : 'not '}lost in the last ${since}`
    : films.map((film) => filmLines(film).join('\n')).join('\n\n');
