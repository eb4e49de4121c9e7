import {
  afterText,
  causeText,
  type Film,
  headline,
  LEGEND,
  laneName,
  lastedText,
  leftText,
  podName,
  stepsInOrder,
} from '@holdfast/client/film';
import { formatTime } from '@holdfast/platform';
import { element, Markup } from '../history/markup.ts';
import { drawing } from './drawing.ts';
import { STYLE } from './page-style.ts';

/** More on one page would not be read. The newest are shown. */
const FILMS_MAX = 20;

export interface PageQuestion {
  readonly node: string | undefined;
  readonly since: string;
}

/** One HTML file that needs nothing else: no script, no network. */
export function filmPage(films: readonly Film[], { node, since }: PageQuestion): string {
  const title = node === undefined ? 'Lost nodes' : `Losses of ${node}`;
  const left = films.length - FILMS_MAX;
  const none = films.length === 0 ? [fact(`${node ?? 'No node'} was ${node === undefined ? '' : 'not '}lost.`)] : [];
  const cut = left > 0 ? [fact(`The first ${left} losses are left out here.`)] : [];
  const head = element('head', {}, [
    new Markup('<meta charset="utf-8"/>'),
    new Markup(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>`),
    new Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
    element('title', {}, title),
    new Markup(`<style>${STYLE}</style>`),
  ]);
  const body = element('body', {}, [
    element('h1', {}, title),
    fact(`The last ${since} of the cluster, from its history and its events.`),
    ...none,
    ...cut,
    ...films.slice(-FILMS_MAX).map(section),
  ]);
  return `<!doctype html>\n${element('html', { lang: 'en' }, [head, body]).text}\n`;
}

const fact = (text: string): Markup => element('p', { class: 'fact' }, text);

function section(film: Film): Markup {
  const waits = film.waits.map((text) => element('p', { class: 'wait' }, `${text}.`));
  return element('section', {}, [
    element('h2', {}, film.node),
    element('p', {}, headline(film)),
    ...waits,
    legend(film),
    drawing(film),
    ...leftText(film).map(fact),
    steps(film),
    ...remarks(film),
  ]);
}

function legend({ lostMs }: Film): Markup {
  const keys = LEGEND.map(([tone, text]) =>
    element('span', { class: 'key' }, [element('i', { class: `swatch ${tone}` }, ''), element('span', {}, text)]),
  );
  const zero = element('span', { class: 'key' }, `0s is the last heartbeat, ${formatTime(lostMs).slice(11, 19)} UTC.`);
  return element('div', { class: 'legend' }, [...keys, zero]);
}

function steps(film: Film): Markup {
  const told = stepsInOrder(film);
  const items = told.map(({ lane, step }) => {
    const cause = causeText(told, step);
    const because = cause === '' ? [] : [element('span', { class: 'because' }, `because of ${cause}`)];
    return element('li', { id: `s${film.lostMs}-${step.id}` }, [
      element('span', { class: 'after' }, afterText(film, step.fromMs)),
      element('span', { class: 'what' }, [
        element('b', {}, laneName(lane)),
        element('span', {}, ` ${step.name}`),
        element('span', { class: 'lasted' }, step.isOpen ? ' (lasts)' : ` (${lastedText(step)})`),
        ...because,
      ]),
    ]);
  });
  return element('div', {}, [element('h3', {}, 'Step by step'), element('ol', { class: 'steps' }, items)]);
}

function remarks(film: Film): readonly Markup[] {
  if (film.remarks.length === 0) return [];
  const items = film.remarks.map(({ atMs, about, reason, message }) =>
    element('li', {}, [
      element('span', { class: 'after' }, afterText(film, atMs)),
      element('span', { class: 'what' }, [
        element('b', {}, podName(about)),
        element('span', {}, ` ${reason}: ${message}`),
      ]),
    ]),
  );
  return [element('h3', {}, 'What components said (Events)'), element('ol', { class: 'steps' }, items)];
}
