import {
  DoubtfulSettingsPoint,
  isOfferName,
  lacksOffer,
  type Offer,
  offerNamed,
  type Scope,
} from 'agent-gateway';

const EVERY_MS = 600_000;

/**
 * Warns while no plugin offers what a setting names: once all plugins had the chance to offer it, and every ten
 * minutes; `saas-api check` says it as well. Does nothing for a setting that names no offer.
 *
 * @param variable the variable of the setting, for the log
 */
export function watchOffer(
  scope: Pick<Scope, 'every' | 'log' | 'contribute'>,
  variable: string,
  name: string | undefined,
  offers: () => readonly Offer[],
): void {
  if (name === undefined || !isOfferName(name)) return;
  const doubts = () =>
    offerNamed(name, offers()) === undefined ? [lacksOffer(variable, name, offers())] : [];
  const look = async () => {
    for (const doubt of doubts()) scope.log.warn(doubt);
  };
  scope.contribute(DoubtfulSettingsPoint, { doubts });
  scope.every(variable, EVERY_MS, look, { immediately: true });
}
