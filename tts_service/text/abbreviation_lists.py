"""Abbreviations by language, for reading them in full and for not ending sentences behind them. Pure data."""

from __future__ import annotations

# Before a name.
TITLES: dict[str, dict[str, str]] = {
    "en": {
        "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Gen": "General",
        "Sen": "Senator", "Rep": "Representative", "Gov": "Governor", "Capt": "Captain", "Lt": "Lieutenant",
        "Col": "Colonel", "Sgt": "Sergeant", "Maj": "Major", "Cpl": "Corporal", "Pvt": "Private", "Rev": "Reverend",
        "Hon": "Honorable", "Pres": "President", "Mt": "Mount", "Ft": "Fort", "Messrs": "Messieurs", "Fr": "Father",
        "Supt": "Superintendent", "Cmdr": "Commander", "Adm": "Admiral",
    },
    "de": {"Dr": "Doktor", "Prof": "Professor", "Hr": "Herr", "Hrn": "Herrn", "Fr": "Frau", "St": "Sankt"},
    "fr": {"M": "Monsieur", "Mme": "Madame", "Mlle": "Mademoiselle", "MM": "Messieurs", "Dr": "Docteur",
           "Pr": "Professeur", "St": "Saint", "Ste": "Sainte", "Me": "Maître"},
    "es": {"Sr": "señor", "Sra": "señora", "Srta": "señorita", "Dr": "doctor", "Dra": "doctora", "Sto": "Santo",
           "Sta": "Santa", "D": "don", "Dña": "doña", "Prof": "profesor"},
    "it": {"Sig": "signor", "Sig.ra": "signora", "Dott": "dottor", "Dott.ssa": "dottoressa", "Prof": "professor",
           "Ing": "ingegner", "Avv": "avvocato", "S": "San"},
    "pt": {"Sr": "senhor", "Sra": "senhora", "Dr": "doutor", "Dra": "doutora", "Prof": "professor", "Sto": "Santo"},
    "nl": {"Dhr": "de heer", "dhr": "de heer", "mevr": "mevrouw", "Mevr": "mevrouw", "dr": "doctor", "Dr": "doctor",
           "prof": "professor", "Prof": "professor", "mr": "meester", "ir": "ingenieur"},
}  # fmt: skip

# Before digits.
BEFORE_NUMBER: dict[str, dict[str, str]] = {
    "en": {"no": "number ", "nos": "numbers ", "vol": "volume ", "p": "page ", "pp": "pages ", "fig": "figure ",
           "figs": "figures ", "ch": "chapter ", "sec": "section ", "ext": "extension ", "art": "article ",
           "eq": "equation ", "v": "version ", "ver": "version ", "tel": "telephone ", "ph": "phone ", "rm": "room ",
           "apt": "apartment ", "ste": "suite ", "ca": "circa ", "c": "circa ", "rev": "revision ", "pt": "part "},
    "de": {"nr": "Nummer ", "s": "Seite ", "bd": "Band ", "abb": "Abbildung ", "kap": "Kapitel ", "tel": "Telefon ",
           "art": "Artikel ", "abs": "Absatz "},
    "fr": {"n°": "numéro ", "no": "numéro ", "p": "page ", "pp": "pages ", "vol": "volume ", "chap": "chapitre ",
           "tél": "téléphone ", "fig": "figure ", "art": "article "},
    "es": {"núm": "número ", "n.º": "número ", "nº": "número ", "pág": "página ", "págs": "páginas ", "vol": "volumen ",
           "cap": "capítulo ", "tel": "teléfono ", "fig": "figura ", "art": "artículo "},
    "it": {"n": "numero ", "nº": "numero ", "pag": "pagina ", "vol": "volume ", "cap": "capitolo ", "fig": "figura ",
           "tel": "telefono ", "art": "articolo "},
    "pt": {"nº": "número ", "n.º": "número ", "pág": "página ", "vol": "volume ", "cap": "capítulo ", "fig": "figura ",
           "tel": "telefone ", "art": "artigo "},
    "nl": {"nr": "nummer ", "blz": "bladzijde ", "p": "pagina ", "hfst": "hoofdstuk ", "fig": "figuur ",
           "tel": "telefoon ", "art": "artikel "},
}  # fmt: skip

# Anywhere.
IN_FULL: dict[str, dict[str, str]] = {
    "en": {
        "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera", "vs.": "versus", "vs": "versus",
        "approx.": "approximately", "dept.": "department", "est.": "established", "inc.": "incorporated",
        "ltd.": "limited", "corp.": "corporation", "co.": "company", "bros.": "brothers", "jr.": "junior",
        "sr.": "senior", "ave.": "avenue", "blvd.": "boulevard", "rd.": "road", "hwy.": "highway", "ln.": "lane",
        "avg.": "average", "max.": "maximum", "misc.": "miscellaneous", "et al.": "et al", "cf.": "compare",
        "viz.": "namely", "a.k.a.": "also known as", "aka": "also known as", "w/o": "without", "b/c": "because",
        "govt.": "government", "intl.": "international", "assn.": "association", "asst.": "assistant",
        "attn.": "attention", "appt.": "appointment", "temp.": "temperature", "tel.": "telephone", "ext.": "extension",
        "esq.": "esquire", "ph.d.": "P H D", "ca.": "circa", "incl.": "including", "excl.": "excluding",
        "min.": "minimum", "univ.": "university", "mfg.": "manufacturing", "a.m.": "A M", "p.m.": "P M",
        "o'clock": "o'clock", "p.s.": "P S", "n.b.": "note well", "r.s.v.p.": "R S V P",
    },
    "de": {
        "z.b.": "zum Beispiel", "z. b.": "zum Beispiel", "d.h.": "das heißt", "d. h.": "das heißt",
        "u.a.": "unter anderem", "u. a.": "unter anderem", "usw.": "und so weiter", "bzw.": "beziehungsweise",
        "ca.": "circa", "inkl.": "inklusive", "exkl.": "exklusive", "evtl.": "eventuell", "ggf.": "gegebenenfalls",
        "vgl.": "vergleiche", "mio.": "Millionen", "mrd.": "Milliarden", "tel.": "Telefon", "str.": "Straße",
        "z.t.": "zum Teil", "z. t.": "zum Teil", "u.u.": "unter Umständen", "o.ä.": "oder ähnliches",
        "etc.": "et cetera", "i.d.r.": "in der Regel", "s.o.": "siehe oben", "s.u.": "siehe unten",
        "zzgl.": "zuzüglich", "sog.": "sogenannte", "max.": "maximal",
        "mind.": "mindestens", "min.": "minimal", "n. chr.": "nach Christus",
        "v. chr.": "vor Christus", "nr.": "Nummer", "geb.": "geboren", "gest.": "gestorben", "jh.": "Jahrhundert",
        "abs.": "Absatz", "std.": "Stunden", "tägl.": "täglich", "bspw.": "beispielsweise", "m.e.": "meines Erachtens",
    },
    "fr": {"etc.": "et cetera", "p. ex.": "par exemple", "p.ex.": "par exemple", "c.-à-d.": "c'est-à-dire",
           "env.": "environ", "av.": "avenue", "bd.": "boulevard", "tél.": "téléphone",
           "av. j.-c.": "avant Jésus-Christ", "apr. j.-c.": "après Jésus-Christ",
           "s.v.p.": "s'il vous plaît", "max.": "maximum", "min.": "minimum"},
    "es": {"etc.": "etcétera", "p. ej.": "por ejemplo", "p.ej.": "por ejemplo", "ee. uu.": "Estados Unidos",
           "ee.uu.": "Estados Unidos", "ud.": "usted", "uds.": "ustedes", "aprox.": "aproximadamente", "av.": "avenida",
           "avda.": "avenida", "tel.": "teléfono", "a. c.": "antes de Cristo", "d. c.": "después de Cristo",
           "máx.": "máximo", "mín.": "mínimo", "cía.": "compañía", "dpto.": "departamento"},
    "it": {"ecc.": "eccetera", "p. es.": "per esempio", "p.es.": "per esempio", "es.": "esempio", "cfr.": "confronta",
           "tel.": "telefono", "a.c.": "avanti Cristo", "d.c.": "dopo Cristo", "max.": "massimo", "min.": "minimo"},
    "pt": {"etc.": "et cetera", "p. ex.": "por exemplo", "p.ex.": "por exemplo", "av.": "avenida", "tel.": "telefone",
           "aprox.": "aproximadamente", "máx.": "máximo", "mín.": "mínimo", "cia.": "companhia"},
    "nl": {"enz.": "enzovoort", "bijv.": "bijvoorbeeld", "bv.": "bijvoorbeeld", "d.w.z.": "dat wil zeggen",
           "o.a.": "onder andere", "m.b.t.": "met betrekking tot", "i.p.v.": "in plaats van", "ca.": "circa",
           "max.": "maximaal", "min.": "minimaal", "t/m": "tot en met", "tel.": "telefoon", "etc.": "et cetera",
           "incl.": "inclusief", "excl.": "exclusief", "a.u.b.": "alstublieft", "n.v.t.": "niet van toepassing"},
}  # fmt: skip

# Behind these no sentence ends, whatever follows: they belong to what comes next.
_NEVER_LAST = {
    "en": "approx vs e.g i.e cf viz fig figs no nos vol pp p ch eq ca dr mr mrs ms prof gen sen rep gov "
    "capt lt col sgt maj rev hon pres mt ft messrs art sec jan feb mar apr jun jul aug sep sept oct "
    "nov dec mon tue wed thu fri sat sun tel ext apt conf",
    "de": "z.b d.h u.a bzw ca inkl exkl evtl ggf vgl nr dr prof hr fr st tel abb kap z b d h u sog mind "
    "max jan feb apr jun jul aug sep okt nov dez",
    "fr": "m mme mlle mm dr pr st ste p ex env tél n fig chap",
    "es": "sr sra srta dr dra p ej núm pág aprox av avda sto sta prof fig cap",
    "it": "sig sig.ra dott dott.ssa prof p es pag cfr fig cap n ing avv",
    "pt": "sr sra dr dra prof p ex pág av aprox fig cap n",
    "nl": "dhr mevr dr prof nr blz bijv bv ca o.a m.b.t i.p.v mr ir",
}
# Behind these none ends where the next word is in small letters.
_SELDOM_LAST = (
    "tsp tbsp oz lb lbs ft in hr hrs min mins sec secs inc ltd corp co etc st ave blvd rd jr sr dept est al bros gal "
    "a.m p.m u.s u.k ph.d esq misc max avg temp govt approx"
)
SELDOM_LAST = frozenset(_SELDOM_LAST.split())
NEVER_LAST: dict[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _NEVER_LAST.items()}
