import { CHANGES_MAX, type HistoryFound } from '@holdfast/client/film';
import { formatTime } from '@holdfast/platform';
import { parseDuration } from '@holdfast/platform/durations';
import { defineCommand } from '../command.ts';
import { historyLines } from '../history/lines.ts';
import { historyPage } from '../history/page.ts';
import { readHistory } from '../history/read.ts';
import { misuse } from '../misuse.ts';
import { writePage } from '../pages.ts';

export const HISTORY = defineCommand({
  usage: 'history [--since 10m] [--object KIND/NAMESPACE/NAME] [--user USER]',
  about:
    'Says what changed, who wrote it, and which revision the writer had seen. Refused writes (409) are part of it.\n' +
    'With --html FILE as one page: lanes for clients, arrows from what was seen to what was written, faults in red.',
  settings: {
    since: { kind: 'string', help: 'How far back, such as 90s or 1h', default: '10m' },
    object: { kind: 'string', help: 'Only this object, or all of a kind: KIND/NAMESPACE/NAME, KIND/NAME or KIND' },
    user: { kind: 'string', help: 'Only what this user wrote' },
    json: { kind: 'boolean', help: 'One JSON document a line, as the API answers it' },
    html: { kind: 'string', help: 'Write a page to this file' },
  },
  act: async ({ settings, words }, session, { print, tell, clock }) => {
    if (words.length > 0) throw misuse(`"${words[0]}" is not expected`, 'Name an object with --object KIND/NAME.');
    const { since, object, user, json, html } = settings;
    if (parseDuration(since) === undefined) throw misuse(`"${since}" is not a duration`, 'Give it as in --since 10m.');
    const found = await readHistory(session, { since, object, user });
    if (found.isCut)
      tell(`Warning: only the first ${CHANGES_MAX} changes are shown; ask for less with --since or --object.`);
    if (html !== undefined) {
      await writePage(html, historyPage(found.changes, { title: titleOf(object), facts: factsOf(since, clock.now()) }));
      (json ? tell : print)(`${found.changes.length} changes are in ${html}`);
    }
    if (json) for (const change of found.changes) print(JSON.stringify(change));
    else if (html === undefined) print(textOf(found, since));
  },
});

const textOf = ({ changes }: HistoryFound, since: string): string =>
  changes.length === 0 ? `nothing changed in the last ${since}` : historyLines(changes).join('\n');

const titleOf = (object: string | undefined): string => (object === undefined ? 'History' : `History of ${object}`);

const factsOf = (since: string, now: number): readonly string[] => [`The ${since} before ${formatTime(now)}.`];
