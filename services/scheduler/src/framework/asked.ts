/** Number of calls of a plugin. Counted in place, because it happens for each node; read only by metrics. */
export interface Asked {
  preFilter: number;
  filter: number;
  preScore: number;
  score: number;
}

export const neverAsked = (): Asked => ({ preFilter: 0, filter: 0, preScore: 0, score: 0 });
