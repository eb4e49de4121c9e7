import {
  afterText,
  causeText,
  type Film,
  headline,
  laneName,
  lastedText,
  leftText,
  podName,
  stepsInOrder,
} from '@holdfast/client/film';
import type { VNode } from 'preact';
import { NODES, objectHash } from '../state/routes.ts';
import { FilmLegend, FilmPicture } from './film-picture.tsx';

/** One loss of one node. */
export const FilmView = ({ film }: { readonly film: Film }): VNode => (
  <section class="card film" aria-label={`The loss of ${film.node}`}>
    <h2>
      <a href={objectHash(NODES, '', film.node)}>{film.node}</a>
    </h2>
    <p>{headline(film)}</p>
    {film.waits.map((sentence) => (
      <p key={sentence} class="wait">
        {sentence}.
      </p>
    ))}
    <FilmLegend film={film} />
    <FilmPicture film={film} />
    {leftText(film).map((text) => (
      <p key={text} class="muted">
        {text}
      </p>
    ))}
    <details>
      <summary>Step by step</summary>
      <Steps film={film} />
    </details>
    {film.remarks.length > 0 && (
      <details>
        <summary>What components said (events)</summary>
        <Remarks film={film} />
      </details>
    )}
  </section>
);

function Steps({ film }: { readonly film: Film }): VNode {
  const told = stepsInOrder(film);
  return (
    <ol class="film-steps">
      {told.map(({ lane, step }) => {
        const cause = causeText(told, step);
        return (
          <li key={step.id}>
            <span class="after">{afterText(film, step.fromMs)}</span>
            <span>
              <strong>{laneName(lane)}</strong> {step.name} <span class="muted">({lastedText(step)})</span>
              {cause !== '' && <span class="because">because of {cause}</span>}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const Remarks = ({ film }: { readonly film: Film }): VNode => (
  <ol class="film-steps">
    {film.remarks.map(({ atMs, about, reason, message }, index) => (
      <li key={index}>
        <span class="after">{afterText(film, atMs)}</span>
        <span>
          <strong>{podName(about)}</strong> {reason}: {message}
        </span>
      </li>
    ))}
  </ol>
);
